/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omnipgas._core: what the Python package calls of libomnipgas, in C because a call through ctypes costs more than the
 * operation (docs/explanation/bindings.md). Stable ABI of Python 3.11. The library is opened by load(), not linked.
 */
#ifndef OMNIPGAS_PYTHON_CORE_H
#define OMNIPGAS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <omnipgas/halo.h>
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_memory.h>

/* The functions that load() finds in the library, without their prefix. */
/* clang-format off */
#define CORE_FUNCTIONS(X) \
  X(strerror) X(error_detail) X(version) X(init) X(finalize) X(rank) X(size) X(node_rank) X(node_size) \
  X(barrier_timed) X(alloc) X(free) X(ptr) X(put) X(get) X(put_word) X(poll) X(failure_ack) \
  X(ctx_create) X(ctx_destroy) X(ctx_put) X(ctx_get) X(ctx_put_word) X(ctx_put_signal) X(ctx_wait) \
  X(ctx_flush) X(ctx_quiet) X(ctx_fence) X(process_quiet) X(ctx_signal) X(ctx_wait_until) X(ctx_wait_any) X(ctx_wait_some) \
  X(ctx_wait_all) X(ctx_put_strided) X(ctx_get_strided) X(ctx_atomic32) X(ctx_atomic64) X(put_nb) \
  X(wait_memory) X(wait_memory_any) X(wait_memory_some) X(wait_memory_all) X(get_nb) X(put_strided_nb) X(get_strided_nb) X(put_indexed_nb) X(get_indexed_nb) X(handle_test) X(handle_wait) X(handle_wait_any) X(progress) X(abort) X(failed_ranks) X(stop) X(stopped_ranks) \
  X(halo_create) X(halo_destroy) X(halo_start) X(halo_test) X(halo_wait) X(halo_wait_some) X(halo_data) \
  X(halo_describe) X(call_register) X(call) X(call_nb) X(call_fail)
/* clang-format on */

struct core_library {
#define X(name) __typeof__(ompl_##name)* name;
  CORE_FUNCTIONS(X)
#undef X
};
extern struct core_library core;

/* What the elements of a section are; layer.py gives the number. */
enum { CORE_UNSIGNED = 0, CORE_SIGNED = 1, CORE_FLOAT = 2 };

/* A place in every rank's segment: the base of the Python class Array. */
typedef struct {
  PyObject_HEAD unsigned long long offset;
  Py_ssize_t nbytes;
  Py_ssize_t itemsize;
  char contiguous; /* in the order of C */
  char sort;       /* of its elements: CORE_UNSIGNED, CORE_SIGNED or CORE_FLOAT */
  int dimensions;
  size_t extents[OMPL_MAX_DIMENSIONS];
  ptrdiff_t strides[OMPL_MAX_DIMENSIONS];
} core_section;
extern PyTypeObject* core_section_type;

/* A context; every operation is a method of it. */
typedef struct {
  PyObject_HEAD ompl_ctx* handle;
  enum { CORE_IMPLICIT, CORE_OPEN, CORE_CLOSED } state;
} core_context;

/* Whether finalize() was called: contexts are then invalid. */
extern int core_finalized;

/* Besides the codes of ompl.h: a Python exception is set. */
enum { CORE_RAISED = -1000 };

/* Raises OmplError (OmplTimeoutError) for a code; returns NULL. CORE_RAISED: keeps the exception that is set. */
PyObject* core_raise(int code);

/* None, or the exception of a code. */
PyObject* core_result(int code);

/* A list of numbers. */
PyObject* core_numbers(const size_t* numbers, size_t count);

/* Converts an argument; 0 with an exception set if that fails. Out of range becomes a rank that does not exist. */
int core_rank(PyObject* value, uint32_t* rank);

/* An offset: an int or a Section. */
int core_offset(PyObject* value, uint64_t* offset);

/* Nanoseconds of a timeout in seconds, or OMPL_FOREVER of None (or of NULL). */
int core_timeout(PyObject* value, int64_t* timeout_ns);

/* The only optional argument, `timeout`, at position `required` or by its name; NULL if it is not given. */
int core_optional_timeout(PyObject* const* args, Py_ssize_t count, PyObject* names, Py_ssize_t required,
                          int64_t* timeout_ns);

/* Calls attempt(call, ns) until it returns something else than OMPL_ERR_TIMEOUT or the time is up. The first time
 * at once; then without the GIL, and now and then running Python's signal handlers, so that Ctrl-C works. */
typedef int (*core_attempt)(void* call, int64_t timeout_ns);
int core_block(core_attempt attempt, void* call, int64_t timeout_ns);

/* The same, but without the GIL from the first attempt on. */
int core_block_released(core_attempt attempt, void* call, int64_t timeout_ns);

/* The handle of a context, or 0 with an exception set if it has ended. */
int core_usable(PyObject* context, ompl_ctx** handle);

/* One put or get: the local memory, and where it goes or comes from. */
typedef struct {
  ompl_ctx* ctx;
  Py_buffer view;
  uint32_t rank;
  uint64_t offset;
  int strided; /* as `block` says; else both sides are contiguous */
  ompl_strided block;
} core_transfer;

/* Reads (local, rank, remote); the view is to be released. `writable`: the local side is written. */
int core_transfer_begin(core_transfer* t, PyObject* context, PyObject* const* args, int writable);

/* A method of Context. */
#define CORE_KEYWORD_METHOD(name) PyObject* name(PyObject* self, PyObject* args, PyObject* names)

/* Signals, conditions and atomics (extended.c). */
CORE_KEYWORD_METHOD(core_signal);
CORE_KEYWORD_METHOD(core_wait_until);
CORE_KEYWORD_METHOD(core_wait_any);
CORE_KEYWORD_METHOD(core_wait_some);
CORE_KEYWORD_METHOD(core_wait_all);
CORE_KEYWORD_METHOD(core_atomic);
CORE_KEYWORD_METHOD(core_update);
CORE_KEYWORD_METHOD(core_progress);

/* Waits for memory (extended.c). */
CORE_KEYWORD_METHOD(core_wait_memory);
CORE_KEYWORD_METHOD(core_wait_memory_any);
CORE_KEYWORD_METHOD(core_wait_memory_some);
CORE_KEYWORD_METHOD(core_wait_memory_all);

/* Nonblocking operations (handle.c). */
CORE_KEYWORD_METHOD(core_put_nb);
CORE_KEYWORD_METHOD(core_get_nb);
CORE_KEYWORD_METHOD(core_handle_wait_any);

/* The same of lists of elements (indexed.c). */
CORE_KEYWORD_METHOD(core_put_indexed);
CORE_KEYWORD_METHOD(core_get_indexed);

/* A Handle that takes over the view of a transfer; `*operation` is to be posted. NULL: an exception is set, and the view was
 * released. */
PyObject* core_handle_begin(core_transfer* t, ompl_handle** operation);

/* What a method returns whose post has ended with a code: the Handle, None if nothing could be posted, or an exception. */
PyObject* core_handle_end(PyObject* handle, ompl_ctx* ctx, int code);

/* Remote calls (calls.c): functions of the module. */
PyObject* core_call_register(PyObject* module, PyObject* args);
PyObject* core_call(PyObject* module, PyObject* args);

/* The types that their files describe and the module adds. */
extern PyType_Spec core_context_spec, core_handle_spec, core_halo_spec;
extern PyTypeObject* core_handle_type;

/* Calls something that may take long without the GIL. */
#define WITHOUT_GIL(code, call)            \
  do {                                     \
    Py_BEGIN_ALLOW_THREADS(code) = (call); \
    Py_END_ALLOW_THREADS                   \
  } while (0)

#endif /* OMNIPGAS_PYTHON_CORE_H */
