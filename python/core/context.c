/* SPDX-License-Identifier: BSD-3-Clause */
/* Context: put, get, signals and waits as methods, those of the implicit context being the package's functions. */
#include "core.h"

/* Longer transfers, and those that go over a network, give the GIL away. */
enum { KEEP_GIL_BYTES = 65536 };

/* The handle, or 0 with an exception set if the context has ended. */
static int usable(core_context* self, ompl_ctx** handle) {
  *handle = self->handle;
  if (self->state == CORE_IMPLICIT || (self->state == CORE_OPEN && !core_finalized)) return 1;
  PyErr_SetString(PyExc_ValueError, "the context is closed");
  return 0;
}

/* One put or get: the local memory, and where it goes or comes from. */
typedef struct {
  ompl_ctx* ctx;
  Py_buffer view;
  char* packed; /* the local memory in one piece: the view's own, or a copy */
  uint32_t rank;
  uint64_t offset;
} transfer;

/* The local and the remote side have to have the same size and kind of element. */
static int sides_fit(const transfer* t, PyObject* remote) {
  const core_section* section = (core_section*)remote;
  if (!PyObject_TypeCheck(remote, core_section_type)) return 1;
  if (section->nbytes != t->view.len || section->itemsize != t->view.itemsize) {
    PyErr_Format(
        PyExc_ValueError,
        "the two sides differ: %zd bytes in items of %zd here, %zd bytes in items of %zd there",
        t->view.len, t->view.itemsize, section->nbytes, section->itemsize);
    return 0;
  }
  if (!section->contiguous) {
    PyErr_SetString(PyExc_ValueError, "the remote section is not contiguous");
    return 0;
  }
  return 1;
}

/* Reads (local, rank, remote); to be released with transfer_end(). `writable`: the local side is written. */
static int transfer_begin(transfer* t, PyObject* self, PyObject* const* args, int writable) {
  if (!usable((core_context*)self, &t->ctx) || !core_rank(args[1], &t->rank) ||
      !core_offset(args[2], &t->offset) ||
      PyObject_GetBuffer(args[0], &t->view, writable ? PyBUF_STRIDED : PyBUF_STRIDED_RO) != 0)
    return 0;
  t->packed = t->view.buf;
  if (sides_fit(t, args[2])) {
    if (PyBuffer_IsContiguous(&t->view, 'C')) return 1;
    t->packed = PyMem_Malloc((size_t)t->view.len);
    if (t->packed != NULL) return 1;
    PyErr_NoMemory();
  }
  PyBuffer_Release(&t->view);
  return 0;
}

static PyObject* transfer_end(transfer* t, int code) {
  if (t->packed != t->view.buf) PyMem_Free(t->packed);
  PyBuffer_Release(&t->view);
  return code == OMPL_OK ? core_result(code) : core_raise(code);
}

/* Whether the transfer is a short copy in memory. */
static int is_short_copy(const transfer* t) {
  return t->view.len < KEEP_GIL_BYTES && core.ptr(t->rank, t->offset) != NULL;
}

static int do_put(const transfer* t) {
  const uint64_t address = (uint64_t)(uintptr_t)t->packed;
  const size_t length = (size_t)t->view.len;
  if (t->ctx == OMPL_CTX_DEFAULT) return core.put(address, t->rank, t->offset, length);
  return core.ctx_put(t->ctx, address, t->rank, t->offset, length, OMPL_FOREVER);
}

static int do_get(const transfer* t) {
  const uint64_t address = (uint64_t)(uintptr_t)t->packed;
  const size_t length = (size_t)t->view.len;
  if (t->ctx == OMPL_CTX_DEFAULT) return core.get(address, t->rank, t->offset, length);
  return core.ctx_get(t->ctx, address, t->rank, t->offset, length, OMPL_FOREVER);
}

/* Runs one of the above, without the GIL if it may take long. */
static int run(int (*operation)(const transfer*), const transfer* t) {
  if (is_short_copy(t)) return operation(t);
  PyThreadState* thread = PyEval_SaveThread();
  const int code = operation(t);
  PyEval_RestoreThread(thread);
  return code;
}

static int takes(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "takes %zd arguments, not %zd", wanted, count);
  return 0;
}

/* Fills the packed copy, if there is one. */
static int pack(transfer* t) {
  return t->packed == t->view.buf || PyBuffer_ToContiguous(t->packed, &t->view, t->view.len, 'C') == 0;
}

static PyObject* context_put(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  transfer t;
  if (!takes(count, 3) || !transfer_begin(&t, self, args, 0)) return NULL;
  return transfer_end(&t, pack(&t) ? run(do_put, &t) : CORE_RAISED);
}

static PyObject* context_get(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  transfer t;
  if (!takes(count, 3) || !transfer_begin(&t, self, args, 1)) return NULL;
  int code = run(do_get, &t);
  if (code == OMPL_OK && t.packed != t.view.buf &&
      PyBuffer_FromContiguous(&t.view, t.packed, t.view.len, 'C') != 0)
    code = CORE_RAISED;
  return transfer_end(&t, code);
}

static int signal_word(ompl_ctx* ctx, uint32_t rank, uint64_t flag) {
  if (core.ptr(rank, flag) != NULL) {
    if (ctx == OMPL_CTX_DEFAULT) return core.put_word(rank, flag);
    return core.ctx_put_word(ctx, rank, flag, OMPL_FOREVER);
  }
  PyThreadState* thread = PyEval_SaveThread();
  const int code = core.ctx_put_word(ctx, rank, flag, OMPL_FOREVER);
  PyEval_RestoreThread(thread);
  return code;
}

static PyObject* context_put_word(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  ompl_ctx* ctx;
  uint32_t rank;
  uint64_t flag;
  if (!takes(count, 2) || !usable((core_context*)self, &ctx) || !core_rank(args[0], &rank) ||
      !core_offset(args[1], &flag))
    return NULL;
  return core_result(signal_word(ctx, rank, flag));
}

static PyObject* context_put_signal(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  transfer t;
  uint64_t flag;
  if (!takes(count, 4) || !core_offset(args[3], &flag) || !transfer_begin(&t, self, args, 0))
    return NULL;
  int code = CORE_RAISED;
  if (pack(&t)) {
    PyThreadState* thread = is_short_copy(&t) ? NULL : PyEval_SaveThread();
    code = core.ctx_put_signal(t.ctx, (uint64_t)(uintptr_t)t.packed, t.rank, t.offset,
                               (size_t)t.view.len, flag, OMPL_FOREVER);
    if (thread != NULL) PyEval_RestoreThread(thread);
  }
  return transfer_end(&t, code);
}

/* A context and a flag, for core_block(). */
typedef struct {
  ompl_ctx* ctx;
  uint64_t flag;
} waiting;

static int attempt_wait(void* call, int64_t timeout_ns) {
  const waiting* w = call;
  return core.ctx_wait(w->ctx, w->flag, timeout_ns);
}

static int attempt_flush(void* call, int64_t timeout_ns) {
  return core.ctx_flush(((waiting*)call)->ctx, timeout_ns);
}

static int attempt_quiet(void* call, int64_t timeout_ns) {
  return core.ctx_quiet(((waiting*)call)->ctx, timeout_ns);
}

static PyObject* context_wait(PyObject* self, PyObject* const* args, Py_ssize_t count,
                              PyObject* names) {
  waiting w;
  int64_t timeout_ns;
  if (!core_optional_timeout(args, count, names, 1, &timeout_ns) ||
      !usable((core_context*)self, &w.ctx) || !core_offset(args[0], &w.flag))
    return NULL;
  return core_result(core_block(attempt_wait, &w, timeout_ns));
}

/* flush() and quiet(). */
static PyObject* complete(core_attempt attempt, PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) {
  waiting w = {OMPL_CTX_DEFAULT, 0};
  int64_t timeout_ns;
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns) ||
      !usable((core_context*)self, &w.ctx))
    return NULL;
  return core_result(core_block(attempt, &w, timeout_ns));
}

static PyObject* context_flush(PyObject* self, PyObject* const* args, Py_ssize_t count,
                               PyObject* names) {
  return complete(attempt_flush, self, args, count, names);
}

static PyObject* context_quiet(PyObject* self, PyObject* const* args, Py_ssize_t count,
                               PyObject* names) {
  return complete(attempt_quiet, self, args, count, names);
}

static PyObject* context_poll(PyObject* self, PyObject* value) {
  (void)self;
  uint64_t flag;
  if (!core_offset(value, &flag)) return NULL;
  const int code = core.poll(flag);
  return code < 0 ? core_raise(code) : PyBool_FromLong(code);
}

/* Context(): a context of its own; Context(False): stands for the calling thread's implicit one. */
static int context_init(core_context* self, PyObject* args, PyObject* names) {
  (void)names;
  int own = 1;
  if (!PyArg_ParseTuple(args, "|p", &own)) return -1;
  self->state = CORE_CLOSED;
  self->handle = OMPL_CTX_DEFAULT;
  const int code = own ? core.ctx_create(&self->handle) : OMPL_OK;
  if (code < 0) return core_raise(code), -1;
  self->state = own ? CORE_OPEN : CORE_IMPLICIT;
  return 0;
}

static PyObject* context_close(PyObject* object, PyObject* unused) {
  (void)unused;
  core_context* self = (core_context*)object;
  int code = OMPL_OK;
  if (self->state == CORE_OPEN && !core_finalized) {
    Py_BEGIN_ALLOW_THREADS code = core.ctx_destroy(self->handle);
    Py_END_ALLOW_THREADS
  }
  if (self->state == CORE_OPEN) self->state = CORE_CLOSED;
  return core_result(code);
}

#define FAST(name, flags, text) \
  { #name, (PyCFunction)(void (*)(void))context_##name, METH_FASTCALL | (flags), #name text }
static PyMethodDef context_methods[] = {
    FAST(put, 0,
         "($self, source, rank, dest, /)\n--\n\n"
         "Copies a buffer to (rank, dest); returns when the source may be reused. `dest` of a known "
         "size and\n"
         "type must fit. A source that is not contiguous arrives packed, in the order of C."),
    FAST(get, 0,
         "($self, target, rank, source, /)\n--\n\n"
         "Fills a writable buffer with (rank, source); returns when the data have arrived."),
    FAST(put_word, 0,
         "($self, rank, flag, /)\n--\n\n"
         "Adds one to the flag at (rank, flag), after every earlier put of this context to that rank."),
    FAST(put_signal, 0, "($self, source, rank, dest, flag, /)\n--\n\nput() and put_word() in one."),
    FAST(wait, METH_KEYWORDS,
         "($self, flag, /, timeout=None)\n--\n\n"
         "Waits until this rank's flag is positive and takes one. Without the GIL; Ctrl-C ends it.\n"
         "Raises OmplTimeoutError, and OmplError (OMPL_ERR_PEER) once a rank has died."),
    FAST(flush, METH_KEYWORDS,
         "($self, timeout=None)\n--\n\n"
         "Returns when all earlier puts of this context are visible at their targets."),
    FAST(quiet, METH_KEYWORDS,
         "($self, timeout=None)\n--\n\nflush(), and all earlier signals are applied."),
    {"poll", context_poll, METH_O,
     "poll($self, flag, /)\n--\n\nWhether a wait for this rank's flag would return at once. Takes "
     "nothing."},
    {"close", context_close, METH_NOARGS,
     "close($self)\n--\n\nCompletes the context's operations and destroys it."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot context_slots[] = {
    {Py_tp_init, context_init}, {Py_tp_methods, context_methods}, {0, NULL}};
static PyType_Spec context_spec = {"omnipgas._core.Context", sizeof(core_context), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots};

int core_add_context(PyObject* module) {
  PyObject* type = PyType_FromSpec(&context_spec);
  if (type == NULL) return -1;
  const int added = PyModule_AddObjectRef(module, "Context", type);
  Py_DECREF(type);
  return added;
}
