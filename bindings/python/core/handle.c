/* SPDX-License-Identifier: BSD-3-Clause */
/* Handle: a nonblocking put or get, which keeps its buffer until it is done. */
#include "core.h"

typedef struct {
  PyObject_HEAD Py_buffer view; /* while `pending` */
  int pending;
  ompl_handle operation;
} core_handle;

/* The operation is over: gives the buffer back. */
static void settle(core_handle* self) {
  if (!self->pending) return;
  self->pending = 0;
  PyBuffer_Release(&self->view);
}

typedef struct {
  ompl_ctx* ctx;
  ompl_handle* operation;
} waiting;

static int attempt_wait(void* call, int64_t timeout_ns) {
  const waiting* w = call;
  return core.handle_wait(w->ctx, w->operation, timeout_ns);
}

static PyObject* handle_wait(PyObject* object, PyObject* const* args, Py_ssize_t count,
                             PyObject* names) {
  core_handle* self = (core_handle*)object;
  int64_t timeout_ns;
  waiting w = {OMPL_CTX_DEFAULT, &self->operation};
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns)) return NULL;
  if (!self->pending) Py_RETURN_NONE;
  const int code = core_block(attempt_wait, &w, timeout_ns);
  if (code != OMPL_ERR_TIMEOUT && code != CORE_RAISED) settle(self);
  return core_result(code);
}

static PyObject* handle_test(PyObject* object, PyObject* unused) {
  (void)unused;
  core_handle* self = (core_handle*)object;
  if (!self->pending) Py_RETURN_TRUE;
  const int code = core.handle_test(OMPL_CTX_DEFAULT, &self->operation);
  if (code != 0) settle(self);
  return code < 0 ? core_raise(code) : PyBool_FromLong(code);
}

/* A handle that nobody holds any more waits for its operation, whose buffer may then go. */
static void handle_dealloc(PyObject* object) {
  core_handle* self = (core_handle*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->pending && !core_finalized) {
    Py_BEGIN_ALLOW_THREADS(void) core.handle_wait(OMPL_CTX_DEFAULT, &self->operation, OMPL_FOREVER);
    Py_END_ALLOW_THREADS
  }
  settle(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static int put(const core_transfer* t, const ompl_signal* signal, ompl_handle* handle) {
  const uint64_t address = (uint64_t)(uintptr_t)t->view.buf;
  if (t->strided)
    return core.put_strided_nb(t->ctx, address, t->rank, t->offset, &t->block, signal, 0, handle);
  return core.put_nb(t->ctx, address, t->rank, t->offset, (size_t)t->view.len, signal, 0, handle);
}

static int get(const core_transfer* t, ompl_handle* handle) {
  const uint64_t address = (uint64_t)(uintptr_t)t->view.buf;
  if (t->strided) return core.get_strided_nb(t->ctx, address, t->rank, t->offset, &t->block, handle);
  return core.get_nb(t->ctx, address, t->rank, t->offset, (size_t)t->view.len, handle);
}

PyObject* core_handle_begin(core_transfer* t, ompl_handle** operation) {
  core_handle* handle = PyObject_New(core_handle, core_handle_type);
  if (handle == NULL) {
    PyBuffer_Release(&t->view);
    return NULL;
  }
  handle->operation = (ompl_handle)OMPL_HANDLE_INIT;
  handle->view = t->view;
  handle->pending = 1;
  *operation = &handle->operation;
  return (PyObject*)handle;
}

PyObject* core_handle_end(PyObject* object, ompl_ctx* ctx, int code) {
  core_handle* handle = (core_handle*)object;
  if (code == OMPL_PENDING) return object;
  settle(handle);
  if (code == OMPL_OK) {
    /* Orders the data before later loads: test() and wait() of a complete handle do not ask the layer. */
    (void)core.handle_test(ctx, &handle->operation);
    return object;
  }
  Py_DECREF(object);
  return code < 0 ? core_raise(code) : Py_NewRef(Py_None);
}

/* Reads the arguments of put_nb() and get_nb() and posts; `flag` is None or NULL for none. */
static PyObject* post(PyObject* self, PyObject* const* sides, int is_get, PyObject* flag) {
  ompl_signal signal = {0, 1, OMPL_ADD32};
  const int signals = flag != NULL && flag != Py_None;
  if (signals && !core_offset(flag, &signal.flag_addr)) return NULL;
  core_transfer t;
  if (!core_transfer_begin(&t, self, sides, is_get)) return NULL;
  ompl_handle* operation;
  PyObject* handle = core_handle_begin(&t, &operation);
  if (handle == NULL) return NULL;
  const int code = is_get ? get(&t, operation) : put(&t, signals ? &signal : NULL, operation);
  return core_handle_end(handle, t.ctx, code);
}

PyObject* core_put_nb(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"source", "rank", "dest", "flag", NULL};
  PyObject* sides[3];
  PyObject* flag = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, names, "OOO|O", keywords, &sides[0], &sides[1], &sides[2],
                                   &flag))
    return NULL;
  return post(self, sides, 0, flag);
}

PyObject* core_get_nb(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"target", "rank", "source", NULL};
  PyObject* sides[3];
  if (!PyArg_ParseTupleAndKeywords(args, names, "OOO", keywords, &sides[0], &sides[1], &sides[2]))
    return NULL;
  return post(self, sides, 1, NULL);
}

/* Copies of the operations of several handles; a copy stands for the operation. */
typedef struct {
  ompl_ctx* ctx;
  ompl_handle* operations;
  size_t count;
  size_t which;
} several;

static int attempt_any(void* call, int64_t timeout_ns) {
  several* s = call;
  return core.handle_wait_any(s->ctx, s->operations, s->count, &s->which, timeout_ns);
}

PyObject* core_handle_wait_any(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"handles", "timeout", NULL};
  PyObject* list;
  PyObject* timeout = NULL;
  int64_t timeout_ns;
  several s = {0};
  if (!PyArg_ParseTupleAndKeywords(args, names, "O!|O", keywords, &PyList_Type, &list, &timeout) ||
      !core_usable(self, &s.ctx) || !core_timeout(timeout, &timeout_ns))
    return NULL;
  s.count = (size_t)PyList_Size(list);
  s.operations = PyMem_Calloc(s.count + 1, sizeof *s.operations);
  if (s.operations == NULL) return PyErr_NoMemory();
  for (size_t i = 0; i < s.count; ++i) {
    PyObject* item = PyList_GetItem(list, (Py_ssize_t)i);
    if (!PyObject_TypeCheck(item, core_handle_type)) {
      PyMem_Free(s.operations);
      PyErr_SetString(PyExc_TypeError, "a list of handles is wanted");
      return NULL;
    }
    if (((core_handle*)item)->pending) s.operations[i] = ((core_handle*)item)->operation;
  }
  const int code = core_block(attempt_any, &s, timeout_ns);
  PyMem_Free(s.operations);
  if (code < 0) return core_raise(code);
  if (s.which == SIZE_MAX) Py_RETURN_NONE;
  return PyLong_FromSize_t(s.which);
}

static PyMethodDef handle_methods[] = {
    {"test", handle_test, METH_NOARGS,
     "test($self)\n--\n\nWhether the operation is complete. Raises the error it ended with."},
    {"wait", (PyCFunction)(void (*)(void))handle_wait, METH_FASTCALL | METH_KEYWORDS,
     "wait($self, timeout=None)\n--\n\n"
     "Waits until the operation is complete: the data of a put are visible, those of a get have "
     "arrived."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, handle_dealloc}, {Py_tp_methods, handle_methods}, {0, NULL}};
PyType_Spec core_handle_spec = {"omnipgas._core.Handle", sizeof(core_handle), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};
