/* SPDX-License-Identifier: BSD-3-Clause */
/* The module: the library, errors, arguments, and the functions that belong to no context. */
#include "core.h" /* Python.h comes first */

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <structmember.h>
#include <time.h>

struct core_library core;
int core_finalized = 0;
PyTypeObject* core_section_type = NULL;
PyTypeObject* core_handle_type = NULL;

static PyObject* ompl_error = NULL;
static PyObject* ompl_timeout = NULL;
static const int64_t kSlice_ns = 50 * 1000 * 1000; /* of a wait: how late Ctrl-C may be seen */

PyObject* core_raise(int code) {
  if (code == CORE_RAISED) return NULL;
  const char* detail = code == OMPL_ERR_TIMEOUT ? "" : core.error_detail();
  PyObject* type = code == OMPL_ERR_TIMEOUT ? ompl_timeout : ompl_error;
  PyObject* error = PyObject_CallFunction(type, "s", *detail != '\0' ? detail : core.strerror(code));
  PyObject* number = PyLong_FromLong(code);
  PyObject* text = PyUnicode_FromString(detail);
  if (error != NULL && number != NULL && text != NULL &&
      PyObject_SetAttrString(error, "code", number) == 0 &&
      PyObject_SetAttrString(error, "detail", text) == 0)
    PyErr_SetObject(type, error);
  Py_XDECREF(error);
  Py_XDECREF(number);
  Py_XDECREF(text);
  return NULL;
}

PyObject* core_result(int code) {
  if (code < 0) return core_raise(code);
  Py_RETURN_NONE;
}

PyObject* core_numbers(const size_t* numbers, size_t count) {
  PyObject* list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i)
    PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromSize_t(numbers[i]));
  return list;
}

int core_rank(PyObject* value, uint32_t* rank) {
  const long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred() != NULL) return 0;
  *rank = number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
  return 1;
}

int core_offset(PyObject* value, uint64_t* offset) {
  if (PyObject_TypeCheck(value, core_section_type)) {
    *offset = ((core_section*)value)->offset;
    return 1;
  }
  *offset = PyLong_AsUnsignedLongLong(value);
  return *offset != (uint64_t)-1 || PyErr_Occurred() == NULL;
}

int core_timeout(PyObject* value, int64_t* timeout_ns) {
  *timeout_ns = OMPL_FOREVER;
  if (value == NULL || value == Py_None) return 1;
  const double seconds = PyFloat_AsDouble(value);
  if (seconds == -1.0 && PyErr_Occurred() != NULL) return 0;
  if (isnan(seconds)) {
    PyErr_SetString(PyExc_ValueError, "a timeout is a number of seconds or None");
    return 0;
  }
  if (seconds < 9e9) *timeout_ns = seconds > 0 ? (int64_t)(seconds * 1e9) : 0;
  return 1;
}

int core_optional_timeout(PyObject* const* args, Py_ssize_t count, PyObject* names, Py_ssize_t required,
                          int64_t* timeout_ns) {
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  const int misnamed =
      named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "timeout") != 0;
  if (count < required || count + named > required + 1 || misnamed) {
    PyErr_Format(PyExc_TypeError, "takes %zd arguments and a timeout", required);
    return 0;
  }
  return core_timeout(count + named == required ? NULL : args[required], timeout_ns);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int core_block_released(core_attempt attempt, void* call, int64_t timeout_ns) {
  const int64_t end = timeout_ns < 0 ? INT64_MAX : now_ns() + timeout_ns;
  int64_t left = timeout_ns == 0 ? 0 : kSlice_ns;
  int code;
  do {
    WITHOUT_GIL(code, attempt(call, left < kSlice_ns ? left : kSlice_ns));
    if (code != OMPL_ERR_TIMEOUT) return code;
    if (PyErr_CheckSignals() != 0) return CORE_RAISED;
    left = end - now_ns();
  } while (left > 0);
  return OMPL_ERR_TIMEOUT;
}

int core_block(core_attempt attempt, void* call, int64_t timeout_ns) {
  const int code = attempt(call, 0);
  if (code != OMPL_ERR_TIMEOUT || timeout_ns == 0) return code;
  return core_block_released(attempt, call, timeout_ns);
}

static PyObject* load(PyObject* module, PyObject* path) {
  (void)module;
  const char* name = PyUnicode_AsUTF8AndSize(path, NULL);
  if (name == NULL) return NULL;
  void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return PyErr_Format(PyExc_ImportError, "%s", dlerror());
  const char* missing = NULL;
#define X(function)                                                   \
  *(void**)(void*)&core.function = dlsym(library, "ompl_" #function); \
  if (core.function == NULL) missing = "ompl_" #function;
  CORE_FUNCTIONS(X)
#undef X
  if (missing != NULL)
    return PyErr_Format(PyExc_ImportError, "%s has no %s: it is too old", name, missing);
  Py_RETURN_NONE;
}

static PyObject* init(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  int code;
  WITHOUT_GIL(code, core.init());
  return core_result(code);
}

static PyObject* finalize(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  int code;
  WITHOUT_GIL(code, core.finalize());
  if (code != OMPL_ERR_STATE) core_finalized = 1;
  return core_result(code);
}

static int attempt_barrier(void* unused, int64_t timeout_ns) {
  (void)unused;
  return core.barrier_timed(timeout_ns);
}

static PyObject* barrier(PyObject* module, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  (void)module;
  int64_t timeout_ns;
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns)) return NULL;
  return core_result(core_block(attempt_barrier, NULL, timeout_ns));
}

static PyObject* number(int value) { return value < 0 ? core_raise(value) : PyLong_FromLong(value); }

#define NUMBER_FUNCTION(name)                                 \
  static PyObject* name(PyObject* module, PyObject* unused) { \
    (void)module, (void)unused;                               \
    return number(core.name());                               \
  }
NUMBER_FUNCTION(rank)
NUMBER_FUNCTION(size)
NUMBER_FUNCTION(node_rank)
NUMBER_FUNCTION(node_size)
NUMBER_FUNCTION(failure_ack)

static PyObject* process_quiet(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  int code;
  WITHOUT_GIL(code, core.process_quiet());
  return core_result(code);
}

static PyObject* stop(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  int code;
  WITHOUT_GIL(code, core.stop());
  return core_result(code);
}

/* What a function of the library that lists ranks says. */
static PyObject* listed_by(int (*list_of)(uint32_t*, size_t, size_t*)) {
  const int size = core.size();
  if (size < 0) return core_raise(size);
  uint32_t* const ranks = PyMem_New(uint32_t, (size_t)size);
  if (ranks == NULL) return PyErr_NoMemory();
  size_t count = 0;
  const int code = list_of(ranks, (size_t)size, &count);
  PyObject* list = code < 0 ? core_raise(code) : PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i)
    PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLong(ranks[i]));
  PyMem_Free(ranks);
  return list;
}

static PyObject* failed_ranks(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return listed_by(core.failed_ranks);
}

static PyObject* stopped_ranks(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return listed_by(core.stopped_ranks);
}

static PyObject* version(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyUnicode_FromString(core.version());
}

static PyObject* alloc(PyObject* module, PyObject* size) {
  (void)module;
  const size_t bytes = PyLong_AsSize_t(size);
  if (bytes == (size_t)-1 && PyErr_Occurred() != NULL) return NULL;
  uint64_t offset = 0;
  int code;
  WITHOUT_GIL(code, core.alloc(bytes, &offset));
  return code < 0 ? core_raise(code) : PyLong_FromUnsignedLongLong(offset);
}

static PyObject* free_offset(PyObject* module, PyObject* value) {
  (void)module;
  uint64_t offset;
  int code;
  if (!core_offset(value, &offset)) return NULL;
  WITHOUT_GIL(code, core.free(offset));
  return core_result(code);
}

/* The memory of (rank, offset) as a writable memoryview, or None if it is not mapped here. */
static PyObject* memory(PyObject* module, PyObject* args) {
  (void)module;
  unsigned int rank;
  unsigned long long offset;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "IKn", &rank, &offset, &length)) return NULL;
  char* begin = core.ptr(rank, offset);
  if (begin == NULL) Py_RETURN_NONE;
  return PyMemoryView_FromMemory(begin, length, PyBUF_WRITE);
}

static PyObject* abort_job(PyObject* module, PyObject* args) {
  (void)module;
  int code;
  const char* why;
  if (!PyArg_ParseTuple(args, "is", &code, &why)) return NULL;
  core.abort(code, why);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"load", load, METH_O, NULL},
    {"init", init, METH_NOARGS, NULL},
    {"finalize", finalize, METH_NOARGS,
     "finalize()\n--\n\nLeaves the job. Collective. Arrays, their views and contexts are invalid "
     "afterwards."},
    {"barrier", (PyCFunction)(void (*)(void))barrier, METH_FASTCALL | METH_KEYWORDS,
     "barrier(timeout=None)\n--\n\nReturns once every rank has called it. Collective. "
     "OmplTimeoutError and KeyboardInterrupt: it is still\n"
     "under way; call again to go on with it, or another collective function, which finishes it "
     "first."},
    {"rank", rank, METH_NOARGS, "rank()\n--\n\nThis rank, 0 .. size() - 1."},
    {"size", size, METH_NOARGS, "size()\n--\n\nThe number of ranks of the job."},
    {"node_rank", node_rank, METH_NOARGS,
     "node_rank()\n--\n\nThis rank's number among the ranks that share its memory."},
    {"node_size", node_size, METH_NOARGS,
     "node_size()\n--\n\nThe number of ranks that share memory with this one, itself included."},
    {"failure_ack", failure_ack, METH_NOARGS,
     "failure_ack()\n--\n\nLets waits block again after a rank has died; the number of ranks known "
     "dead."},
    {"process_quiet", process_quiet, METH_NOARGS,
     "process_quiet()\n--\n\nquiet() of all contexts of this process; other threads may go on "
     "meanwhile."},
    {"failed_ranks", failed_ranks, METH_NOARGS,
     "failed_ranks()\n--\n\nThe ranks known to be dead or out of reach, ascending."},
    {"stop", stop, METH_NOARGS,
     "stop()\n--\n\nSays that this rank does nothing more; call finalize() next, which serves the "
     "others until all have come."},
    {"stopped_ranks", stopped_ranks, METH_NOARGS,
     "stopped_ranks()\n--\n\nThe ranks known to have called stop() and not to have failed, ascending."},
    {"version", version, METH_NOARGS, "version()\n--\n\nThe library's version."},
    {"alloc", alloc, METH_O, NULL},
    {"free", free_offset, METH_O, NULL},
    {"abort", abort_job, METH_VARARGS,
     "abort(exit_code, why, /)\n--\n\nEnds the whole job with 1 .. 255. Does not return."},
    {"memory", memory, METH_VARARGS, NULL},
    {"call_register", core_call_register, METH_VARARGS, NULL},
    {"call", core_call, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Section(offset, itemsize, sort, contiguous, shape, strides) */
static int section_init(core_section* self, PyObject* args, PyObject* names) {
  (void)names;
  int sort;
  int contiguous;
  PyObject* shape;
  PyObject* strides;
  if (!PyArg_ParseTuple(args, "KnipO!O!", &self->offset, &self->itemsize, &sort, &contiguous,
                        &PyTuple_Type, &shape, &PyTuple_Type, &strides))
    return -1;
  const Py_ssize_t dimensions = PyTuple_Size(shape);
  if (dimensions > OMPL_MAX_DIMENSIONS) {
    PyErr_Format(PyExc_ValueError, "more than %d dimensions", OMPL_MAX_DIMENSIONS);
    return -1;
  }
  self->nbytes = self->itemsize;
  for (Py_ssize_t i = 0; i < dimensions; ++i) {
    self->extents[i] = PyLong_AsSize_t(PyTuple_GetItem(shape, i));
    self->strides[i] = PyLong_AsSsize_t(PyTuple_GetItem(strides, i));
    self->nbytes *= (Py_ssize_t)self->extents[i];
  }
  self->dimensions = (int)dimensions;
  self->sort = (char)sort;
  self->contiguous = (char)contiguous;
  return PyErr_Occurred() == NULL ? 0 : -1;
}

static PyMemberDef section_members[] = {
    {"offset", T_ULONGLONG, offsetof(core_section, offset), READONLY, NULL},
    {"nbytes", T_PYSSIZET, offsetof(core_section, nbytes), READONLY, NULL},
    {"itemsize", T_PYSSIZET, offsetof(core_section, itemsize), READONLY, NULL},
    {"contiguous", T_BOOL, offsetof(core_section, contiguous), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot section_slots[] = {
    {Py_tp_init, section_init}, {Py_tp_members, section_members}, {0, NULL}};
static PyType_Spec section_spec = {"omnipgas._core.Section", sizeof(core_section), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, section_slots};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "omnipgas._core", NULL, -1, functions, NULL, NULL, NULL};

/* Makes a type and adds it to the module; NULL if that fails. The reference is the caller's, for good. */
static PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  return type != NULL && PyModule_AddObjectRef(module, name, type) == 0 ? (PyTypeObject*)type : NULL;
}

PyMODINIT_FUNC PyInit__core(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  ompl_error = PyErr_NewException("omnipgas.OmplError", NULL, NULL);
  PyObject* bases = PyTuple_Pack(2, ompl_error, PyExc_TimeoutError);
  ompl_timeout = bases == NULL ? NULL : PyErr_NewException("omnipgas.OmplTimeoutError", bases, NULL);
  Py_XDECREF(bases);
  core_section_type = add_type(module, "Section", &section_spec);
  core_handle_type = add_type(module, "Handle", &core_handle_spec);
  if (core_section_type == NULL || core_handle_type == NULL || ompl_timeout == NULL ||
      PyModule_AddObjectRef(module, "OmplError", ompl_error) < 0 ||
      PyModule_AddObjectRef(module, "OmplTimeoutError", ompl_timeout) < 0 ||
      add_type(module, "Context", &core_context_spec) == NULL ||
      add_type(module, "Halo", &core_halo_spec) == NULL) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
