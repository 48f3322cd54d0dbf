/* SPDX-License-Identifier: BSD-3-Clause */
/* Halo: exchanges by a pattern. Takes addresses: the class in halo.py checks and keeps what lies there. */
#include "core.h"

typedef struct {
  PyObject_HEAD ompl_halo* halo; /* NULL: not made, or freed */
  size_t neighbors;
  Py_ssize_t count;     /* of vectors */
  const void** vectors; /* their addresses in an exchange */
} core_halo;

/* What the calls hand to core_block(). */
typedef struct {
  core_halo* of;
  size_t* indices; /* room for all neighbours */
  size_t found;
} waiting;

static int attempt_start(void* call, int64_t timeout_ns) {
  const core_halo* self = ((waiting*)call)->of;
  return core.halo_start(OMPL_CTX_DEFAULT, self->halo, self->vectors, timeout_ns);
}
static int attempt_wait(void* call, int64_t timeout_ns) {
  return core.halo_wait(OMPL_CTX_DEFAULT, ((waiting*)call)->of->halo, timeout_ns);
}
static int attempt_some(void* call, int64_t timeout_ns) {
  waiting* w = call;
  return core.halo_wait_some(OMPL_CTX_DEFAULT, w->of->halo, w->indices, &w->found, timeout_ns);
}

/* Reads (rank, address, count, address, count) of each neighbour: what is sent, what comes. */
static ompl_halo_neighbor* read_neighbors(PyObject* list, size_t count) {
  ompl_halo_neighbor* neighbors = PyMem_Calloc(count + 1, sizeof *neighbors);
  if (neighbors == NULL) return (ompl_halo_neighbor*)PyErr_NoMemory();
  for (size_t i = 0; i < count; ++i) {
    ompl_halo_neighbor* n = &neighbors[i];
    PyObject* rank;
    unsigned long long lists[2];
    Py_ssize_t counts[2];
    if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "OKnKn", &rank, &lists[0], &counts[0],
                          &lists[1], &counts[1]) ||
        !core_rank(rank, &n->rank)) {
      PyMem_Free(neighbors);
      return NULL;
    }
    n->send_indices = (const uint32_t*)(uintptr_t)lists[0];
    n->send_count = (size_t)counts[0];
    n->receive_positions = (const uint32_t*)(uintptr_t)lists[1];
    n->receive_count = (size_t)counts[1];
  }
  return neighbors;
}

/* Halo(neighbors, element, vectors, length, strategy) */
static int halo_init(core_halo* self, PyObject* args, PyObject* names) {
  (void)names;
  PyObject* list;
  Py_ssize_t element, vectors, length;
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  if (!PyArg_ParseTuple(args, "O!nnni", &PyList_Type, &list, &element, &vectors, &length,
                        &config.strategy))
    return -1;
  config.element = (size_t)element;
  config.vectors = (size_t)vectors;
  config.length = (size_t)length;
  self->neighbors = (size_t)PyList_Size(list);
  self->count = vectors;
  self->vectors = PyMem_Calloc(config.vectors + 1, sizeof *self->vectors);
  if (self->vectors == NULL) return PyErr_NoMemory(), -1;
  ompl_halo_neighbor* neighbors = read_neighbors(list, self->neighbors);
  if (neighbors == NULL) return -1;
  int code;
  WITHOUT_GIL(code, core.halo_create(&config, neighbors, self->neighbors, &self->halo));
  PyMem_Free(neighbors);
  return code < 0 ? (core_raise(code), -1) : 0;
}

/* _start(addresses, timeout). The first attempt is without the GIL too: that of `auto` may wait. */
static PyObject* halo_start(PyObject* object, PyObject* args) {
  core_halo* self = (core_halo*)object;
  PyObject* addresses;
  PyObject* timeout;
  int64_t timeout_ns;
  if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &addresses, &timeout) ||
      !core_timeout(timeout, &timeout_ns))
    return NULL;
  if (PyTuple_Size(addresses) != self->count)
    return PyErr_Format(PyExc_ValueError, "the halo exchanges %zd vectors, not %zd", self->count,
                        PyTuple_Size(addresses));
  for (Py_ssize_t i = 0; i < self->count; ++i)
    self->vectors[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
  if (PyErr_Occurred() != NULL) return NULL;
  waiting w = {self, NULL, 0};
  int code;
  WITHOUT_GIL(code, attempt_start(&w, 0));
  if (code == OMPL_ERR_TIMEOUT) code = core_block(attempt_start, &w, timeout_ns);
  return core_result(code);
}

static PyObject* halo_test(PyObject* self, PyObject* unused) {
  (void)unused;
  const int code = core.halo_test(OMPL_CTX_DEFAULT, ((core_halo*)self)->halo);
  return code < 0 ? core_raise(code) : PyBool_FromLong(code);
}

static PyObject* halo_wait(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  int64_t timeout_ns;
  waiting w = {(core_halo*)self, NULL, 0};
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns)) return NULL;
  return core_result(core_block(attempt_wait, &w, timeout_ns));
}

static PyObject* halo_wait_some(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                PyObject* names) {
  int64_t timeout_ns;
  waiting w = {(core_halo*)self, NULL, 0};
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns)) return NULL;
  w.indices = PyMem_Calloc(w.of->neighbors + 1, sizeof *w.indices);
  if (w.indices == NULL) return PyErr_NoMemory();
  const int code = core_block(attempt_some, &w, timeout_ns);
  PyObject* found = code < 0 ? core_raise(code) : core_numbers(w.indices, w.found);
  PyMem_Free(w.indices);
  return found;
}

/* _data(neighbor, vector, length): that many bytes. */
static PyObject* halo_data(PyObject* self, PyObject* args) {
  Py_ssize_t neighbor, vector, length;
  if (!PyArg_ParseTuple(args, "nnn", &neighbor, &vector, &length)) return NULL;
  const void* data = core.halo_data(((core_halo*)self)->halo, (size_t)neighbor, (size_t)vector);
  if (data != NULL) return PyMemoryView_FromMemory((char*)(uintptr_t)data, length, PyBUF_READ);
  return PyErr_Format(PyExc_IndexError, "no vector %zd of a neighbour %zd", vector, neighbor);
}

static PyObject* halo_describe(PyObject* object, PyObject* unused) {
  (void)unused;
  const ompl_halo* halo = ((core_halo*)object)->halo;
  const size_t length = core.halo_describe(halo, NULL, 0);
  char* text = PyMem_Malloc(length + 1);
  if (text == NULL) return PyErr_NoMemory();
  text[0] = '\0';
  core.halo_describe(halo, text, length + 1);
  PyObject* result = PyUnicode_FromString(text);
  PyMem_Free(text);
  return result;
}

static PyObject* halo_free(PyObject* object, PyObject* unused) {
  (void)unused;
  core_halo* self = (core_halo*)object;
  ompl_halo* halo = self->halo;
  int code;
  self->halo = NULL;
  WITHOUT_GIL(code, core.halo_destroy(halo));
  return core_result(code);
}

/* Freeing is collective, so what nobody holds any more is not freed here. */
static void halo_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyMem_Free(((core_halo*)object)->vectors);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

#define FAST(name) (PyCFunction)(void (*)(void)) halo_##name, METH_FASTCALL | METH_KEYWORDS
static PyMethodDef halo_methods[] = {
    {"_start", halo_start, METH_VARARGS, NULL},
    {"_data", halo_data, METH_VARARGS, NULL},
    {"test", halo_test, METH_NOARGS,
     "test($self)\n--\n\nWhether the exchange started last is complete."},
    {"wait", FAST(wait),
     "wait($self, timeout=None)\n--\n\n"
     "Waits until the exchange started last is complete. Without the GIL; Ctrl-C ends it."},
    {"wait_some", FAST(wait_some),
     "wait_some($self, timeout=None)\n--\n\n"
     "Waits for data of neighbours that no call has named yet in this exchange, and returns their "
     "numbers;\nan empty list once all have been named and the exchange is complete."},
    {"describe", halo_describe, METH_NOARGS,
     "describe($self)\n--\n\nWhat the halo uses, and of 'auto', once it has decided, what it "
     "measured."},
    {"free", halo_free, METH_NOARGS,
     "free($self)\n--\n\nEnds the halo, whose exchanges are complete. Collective."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot halo_slots[] = {
    {Py_tp_init, halo_init}, {Py_tp_dealloc, halo_dealloc}, {Py_tp_methods, halo_methods}, {0, NULL}};
PyType_Spec core_halo_spec = {"omnipgas._core.Halo", sizeof(core_halo), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, halo_slots};
