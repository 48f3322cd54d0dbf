/* SPDX-License-Identifier: BSD-3-Clause */
/* Context: signals of any value, waits on several flags and for memory, atomics, progress. */
#include "core.h" /* Python.h comes first */

#include <string.h>

/* Bits of a word: those of an Array's element; 32 of an offset. 0 with an exception set if there is no such word. */
static int width_of(PyObject* word) {
  if (!PyObject_TypeCheck(word, core_section_type)) return 32;
  const core_section* section = (core_section*)word;
  if (section->itemsize == 4 || section->itemsize == 8) return (int)section->itemsize * 8;
  PyErr_Format(PyExc_ValueError, "a word has 4 or 8 bytes, not %zd", section->itemsize);
  return 0;
}

PyObject* core_signal(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"rank", "flag", "value", "set", NULL};
  PyObject* rank_object;
  PyObject* flag;
  PyObject* value = NULL;
  int set = 0;
  ompl_ctx* ctx;
  uint32_t rank;
  ompl_signal signal = {0, 1, OMPL_ADD32};
  if (!PyArg_ParseTupleAndKeywords(args, names, "OO|O!p", keywords, &rank_object, &flag, &PyLong_Type,
                                   &value, &set) ||
      !core_usable(self, &ctx) || !core_rank(rank_object, &rank) ||
      !core_offset(flag, &signal.flag_addr))
    return NULL;
  const int width = width_of(flag);
  if (width == 0) return NULL;
  if (value != NULL) signal.value = PyLong_AsUnsignedLongLongMask(value);
  if (width == 64) signal.op = set ? OMPL_SET64 : OMPL_ADD64;
  if (width == 32) signal.op = set ? OMPL_SET32 : OMPL_ADD32;
  int code;
  WITHOUT_GIL(code, core.ctx_signal(ctx, rank, &signal, OMPL_FOREVER));
  return core_result(code);
}

/* The same of a word of memory, which may be shorter. `sign`: what is added to a comparison. */
static int memory_width_of(PyObject* word, uint32_t* sign) {
  const core_section* section = (core_section*)word;
  *sign = 0;
  if (!PyObject_TypeCheck(word, core_section_type)) return 32;
  const Py_ssize_t bytes = section->itemsize;
  if (section->sort == CORE_FLOAT || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
    PyErr_SetString(PyExc_ValueError, "a word of memory is an integer of 1, 2, 4 or 8 bytes");
    return 0;
  }
  if (section->sort == CORE_SIGNED) *sign = OMPL_SIGNED;
  return (int)bytes * 8;
}

/* Reads `flag comparison value`; `memory`: of a word of memory. */
static int read_condition(PyObject* flag, const char* comparison, PyObject* value, int memory,
                          ompl_condition* out) {
  static const char* const names[] = {"==", "!=", ">", ">=", "<", "<="};
  uint32_t sign = 0;
  const int width = memory ? memory_width_of(flag, &sign) : width_of(flag);
  if (width == 0 || !core_offset(flag, &out->flag_addr)) return 0;
  out->value = PyLong_AsUnsignedLongLongMask(value);
  out->width = (uint32_t)width;
  for (uint32_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(comparison, names[i]) != 0) continue;
    out->comparison = (OMPL_EQ + i) | sign;
    return PyErr_Occurred() == NULL;
  }
  PyErr_Format(PyExc_ValueError, "'%s' is no comparison", comparison);
  return 0;
}

/* What the waits hand to core_block(). */
typedef struct {
  ompl_ctx* ctx;
  ompl_condition* conditions;
  size_t count;
  size_t* indices; /* room for count */
  size_t found;
  int memory; /* for words of memory, not flags */
} waiting;

static int attempt_until(void* call, int64_t timeout_ns) {
  const waiting* w = call;
  return (w->memory ? core.wait_memory : core.ctx_wait_until)(w->ctx, w->conditions, timeout_ns);
}
static int attempt_any(void* call, int64_t timeout_ns) {
  const waiting* w = call;
  return (w->memory ? core.wait_memory_any : core.ctx_wait_any)(w->ctx, w->conditions, w->count,
                                                                w->indices, timeout_ns);
}
static int attempt_some(void* call, int64_t timeout_ns) {
  waiting* w = call;
  return (w->memory ? core.wait_memory_some : core.ctx_wait_some)(w->ctx, w->conditions, w->count,
                                                                  w->indices, &w->found, timeout_ns);
}
static int attempt_all(void* call, int64_t timeout_ns) {
  const waiting* w = call;
  return (w->memory ? core.wait_memory_all : core.ctx_wait_all)(w->ctx, w->conditions, w->count,
                                                                timeout_ns);
}

static PyObject* wait_until(PyObject* self, PyObject* args, PyObject* names, int memory) {
  static char* keywords[] = {"flag", "comparison", "value", "timeout", NULL};
  static char* memory_keywords[] = {"word", "comparison", "value", "timeout", NULL};
  PyObject* flag;
  const char* comparison;
  PyObject* value;
  PyObject* timeout = NULL;
  int64_t timeout_ns;
  ompl_condition condition;
  waiting w = {NULL, &condition, 1, NULL, 0, memory};
  if (!PyArg_ParseTupleAndKeywords(args, names, "OsO!|O", memory ? memory_keywords : keywords, &flag,
                                   &comparison, &PyLong_Type, &value, &timeout) ||
      !core_usable(self, &w.ctx) || !core_timeout(timeout, &timeout_ns) ||
      !read_condition(flag, comparison, value, memory, &condition))
    return NULL;
  return core_result(core_block(attempt_until, &w, timeout_ns));
}

/* Reads a flag (which a word of memory is not) or (flag, comparison, value). */
static int read_element(PyObject* item, int memory, ompl_condition* out) {
  PyObject* flag;
  const char* comparison;
  PyObject* value;
  if (PyTuple_Check(item))
    return PyArg_ParseTuple(item, "OsO!", &flag, &comparison, &PyLong_Type, &value) &&
           read_condition(flag, comparison, value, memory, out);
  if (memory) {
    PyErr_SetString(PyExc_TypeError, "a condition on memory is (word, comparison, value)");
    return 0;
  }
  out->value = 0;
  out->comparison = OMPL_TAKE;
  out->width = (uint32_t)width_of(item);
  return out->width != 0 && core_offset(item, &out->flag_addr);
}

/* Reads (conditions, timeout=None) and waits. 0 with an exception set, or 1; release() in either case. */
static int wait_several(core_attempt attempt, PyObject* self, PyObject* args, PyObject* names,
                        waiting* w) {
  static char* keywords[] = {"conditions", "timeout", NULL};
  PyObject* list;
  PyObject* timeout = NULL;
  int64_t timeout_ns;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O|O", keywords, &list, &timeout) ||
      !core_usable(self, &w->ctx) || !core_timeout(timeout, &timeout_ns))
    return 0;
  const Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return 0;
  w->count = (size_t)count;
  w->conditions = PyMem_Calloc(w->count + 1, sizeof *w->conditions);
  w->indices = PyMem_Calloc(w->count + 1, sizeof *w->indices);
  if (w->conditions == NULL || w->indices == NULL) return PyErr_NoMemory(), 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(list, i);
    const int read = item != NULL && read_element(item, w->memory, &w->conditions[i]);
    Py_XDECREF(item);
    if (!read) return 0;
  }
  const int code = core_block(attempt, w, timeout_ns);
  return code >= 0 || (core_raise(code), 0);
}

static PyObject* release(waiting* w, PyObject* result) {
  PyMem_Free(w->conditions);
  PyMem_Free(w->indices);
  return result;
}

static PyObject* wait_any(PyObject* self, PyObject* args, PyObject* names, int memory) {
  waiting w = {.memory = memory};
  const int done = wait_several(attempt_any, self, args, names, &w);
  return release(&w, done ? PyLong_FromSize_t(w.indices[0]) : NULL);
}

static PyObject* wait_some(PyObject* self, PyObject* args, PyObject* names, int memory) {
  waiting w = {.memory = memory};
  if (!wait_several(attempt_some, self, args, names, &w)) return release(&w, NULL);
  return release(&w, core_numbers(w.indices, w.found));
}

static PyObject* wait_all(PyObject* self, PyObject* args, PyObject* names, int memory) {
  waiting w = {.memory = memory};
  const int done = wait_several(attempt_all, self, args, names, &w);
  return release(&w, done ? Py_NewRef(Py_None) : NULL);
}

/* Each of them for flags and for memory. */
#define BOTH_WAITS(for_flags, for_memory, wait)                           \
  PyObject* for_flags(PyObject* self, PyObject* args, PyObject* names) {  \
    return wait(self, args, names, 0);                                    \
  }                                                                       \
  PyObject* for_memory(PyObject* self, PyObject* args, PyObject* names) { \
    return wait(self, args, names, 1);                                    \
  }
BOTH_WAITS(core_wait_until, core_wait_memory, wait_until)
BOTH_WAITS(core_wait_any, core_wait_memory_any, wait_any)
BOTH_WAITS(core_wait_some, core_wait_memory_some, wait_some)
BOTH_WAITS(core_wait_all, core_wait_memory_all, wait_all)

/* The number of an operation of atomic() and update() on elements of that sort, or -1 with an exception set. */
static int operation_of(const char* name, char sort) {
  static const struct {
    const char* name;
    int operations[3]; /* by sort; -1: there is none */
  } table[] = {
      {"fetch", {OMPL_ATOMIC_FETCH, OMPL_ATOMIC_FETCH, OMPL_ATOMIC_FETCH}},
      {"set", {OMPL_ATOMIC_SET, OMPL_ATOMIC_SET, OMPL_ATOMIC_SET}},
      {"swap", {OMPL_ATOMIC_SET, OMPL_ATOMIC_SET, OMPL_ATOMIC_SET}},
      {"add", {OMPL_ATOMIC_ADD, OMPL_ATOMIC_ADD, OMPL_ATOMIC_FADD}},
      {"min", {OMPL_ATOMIC_UMIN, OMPL_ATOMIC_SMIN, OMPL_ATOMIC_FMIN}},
      {"max", {OMPL_ATOMIC_UMAX, OMPL_ATOMIC_SMAX, OMPL_ATOMIC_FMAX}},
      {"and", {OMPL_ATOMIC_AND, OMPL_ATOMIC_AND, -1}},
      {"or", {OMPL_ATOMIC_OR, OMPL_ATOMIC_OR, -1}},
      {"xor", {OMPL_ATOMIC_XOR, OMPL_ATOMIC_XOR, -1}},
      {"cswap", {OMPL_ATOMIC_CSWAP, OMPL_ATOMIC_CSWAP, OMPL_ATOMIC_CSWAP}},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (strcmp(name, table[i].name) == 0 && table[i].operations[(int)sort] >= 0)
      return table[i].operations[(int)sort];
  }
  PyErr_Format(PyExc_ValueError, "'%s' is no atomic operation%s", name,
               sort == CORE_FLOAT ? " on floating point" : "");
  return -1;
}

/* The bits of an operand, 0 if it is left out; with an exception set if it is no number of that sort. */
static uint64_t operand_bits(PyObject* operand, char sort, int width) {
  if (operand == NULL) return 0;
  if (sort != CORE_FLOAT) {
    PyObject* const whole = PyNumber_Index(operand);
    if (whole == NULL) return 0;
    const uint64_t bits = PyLong_AsUnsignedLongLongMask(whole);
    Py_DECREF(whole);
    return bits;
  }
  const double number = PyFloat_AsDouble(operand);
  return width == 64 ? ompl_bits_of_double(number) : ompl_bits_of_float((float)number);
}

/* A word as the object that its sort asks for. */
static PyObject* number_of(uint64_t bits, char sort, int width) {
  if (sort == CORE_FLOAT)
    return PyFloat_FromDouble(width == 64 ? ompl_double_of_bits(bits)
                                          : ompl_float_of_bits((uint32_t)bits));
  if (sort == CORE_UNSIGNED) return PyLong_FromUnsignedLongLong(bits);
  return PyLong_FromLongLong(width == 64 ? (int64_t)bits : (int32_t)(uint32_t)bits);
}

/* One atomic; `wanted`: returns what the word was. */
static PyObject* run_atomic(PyObject* self, PyObject* args, PyObject* names, int wanted) {
  static char* keywords[] = {"rank", "word", "op", "operand", "compare", NULL};
  PyObject* rank_object;
  const core_section* word;
  const char* name;
  PyObject* operand = NULL;
  PyObject* compare = NULL;
  ompl_ctx* ctx;
  uint32_t rank;
  if (!PyArg_ParseTupleAndKeywords(args, names, "OO!s|OO", keywords, &rank_object, core_section_type,
                                   &word, &name, &operand, &compare) ||
      !core_usable(self, &ctx) || !core_rank(rank_object, &rank))
    return NULL;
  const int width = width_of((PyObject*)word);
  if (width == 0) return NULL;
  const int op = operation_of(name, word->sort);
  if (op < 0) return NULL;
  if (word->nbytes != word->itemsize) {
    PyErr_SetString(PyExc_ValueError, "an atomic is on one element");
    return NULL;
  }
  const uint64_t value = operand_bits(operand, word->sort, width);
  const uint64_t expected = operand_bits(compare, word->sort, width);
  if (PyErr_Occurred() != NULL) return NULL;
  uint64_t wide = 0;
  uint32_t narrow = 0;
  int code;
  WITHOUT_GIL(code, width == 64
                        ? core.ctx_atomic64(ctx, rank, word->offset, op, value, expected,
                                            wanted ? &wide : NULL, OMPL_FOREVER)
                        : core.ctx_atomic32(ctx, rank, word->offset, op, (uint32_t)value,
                                            (uint32_t)expected, wanted ? &narrow : NULL, OMPL_FOREVER));
  if (code < 0 || !wanted) return core_result(code);
  return number_of(width == 64 ? wide : narrow, word->sort, width);
}

PyObject* core_atomic(PyObject* self, PyObject* args, PyObject* names) {
  return run_atomic(self, args, names, 1);
}

PyObject* core_update(PyObject* self, PyObject* args, PyObject* names) {
  return run_atomic(self, args, names, 0);
}

/* For core_block(): that nothing was found is its OMPL_ERR_TIMEOUT. */
static int attempt_progress(void* call, int64_t timeout_ns) {
  const int found = core.progress(((waiting*)call)->ctx, timeout_ns);
  return found == 0 ? OMPL_ERR_TIMEOUT : found;
}

PyObject* core_progress(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"timeout", NULL};
  PyObject* timeout = NULL;
  int64_t timeout_ns;
  waiting w = {0};
  if (!PyArg_ParseTupleAndKeywords(args, names, "|O", keywords, &timeout) ||
      !core_usable(self, &w.ctx) || !core_timeout(timeout, &timeout_ns))
    return NULL;
  const int code = core_block(attempt_progress, &w, timeout_ns);
  return code < 0 && code != OMPL_ERR_TIMEOUT ? core_raise(code) : PyBool_FromLong(code > 0);
}
