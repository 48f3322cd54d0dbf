/* SPDX-License-Identifier: BSD-3-Clause */
/* Context: put, get, signals and waits as methods, those of the implicit context being the package's functions. */
#include "core.h"

/* Longer transfers, and those that go over a network, give the GIL away. */
enum { KEEP_GIL_BYTES = 65536 };

int core_usable(PyObject* context, ompl_ctx** handle) {
  const core_context* self = (core_context*)context;
  *handle = self->handle;
  if (self->state == CORE_IMPLICIT || (self->state == CORE_OPEN && !core_finalized)) return 1;
  PyErr_SetString(PyExc_ValueError, "the context is closed");
  return 0;
}

/* Whether both sides, neither of which is packed, have the same shape. */
static int shapes_fit(const Py_buffer* view, const core_section* section) {
  int equal = view->ndim == section->dimensions;
  for (int i = 0; equal && i < view->ndim; ++i) equal = (size_t)view->shape[i] == section->extents[i];
  if (!equal)
    PyErr_SetString(PyExc_ValueError, "the two sides differ in shape, and neither is contiguous");
  return equal;
}

/* The local and the remote side have to have the same size and kind of element; describes both. */
static int describe(core_transfer* t, PyObject* remote) {
  const core_section* section =
      PyObject_TypeCheck(remote, core_section_type) ? (core_section*)remote : NULL;
  const Py_buffer* view = &t->view;
  if (section != NULL && (section->nbytes != view->len || section->itemsize != view->itemsize)) {
    PyErr_Format(
        PyExc_ValueError,
        "the two sides differ: %zd bytes in items of %zd here, %zd bytes in items of %zd there",
        view->len, view->itemsize, section->nbytes, section->itemsize);
    return 0;
  }
  const int packed_here = PyBuffer_IsContiguous(view, 'C');
  const int packed_there = section == NULL || section->contiguous;
  t->strided = !packed_here || !packed_there;
  if (!t->strided) return 1;
  if (!packed_here && !packed_there && !shapes_fit(view, section)) return 0;
  t->block.element = (size_t)view->itemsize;
  t->block.dimensions = packed_here ? section->dimensions : view->ndim;
  t->block.extents = packed_here ? section->extents : (const size_t*)view->shape;
  t->block.local_strides = packed_here ? NULL : view->strides;
  t->block.remote_strides = packed_there ? NULL : section->strides;
  return 1;
}

int core_transfer_begin(core_transfer* t, PyObject* context, PyObject* const* args, int writable) {
  if (!core_usable(context, &t->ctx) || !core_rank(args[1], &t->rank) ||
      !core_offset(args[2], &t->offset) ||
      PyObject_GetBuffer(args[0], &t->view, writable ? PyBUF_STRIDED : PyBUF_STRIDED_RO) != 0)
    return 0;
  if (describe(t, args[2])) return 1;
  PyBuffer_Release(&t->view);
  return 0;
}

/* Whether the transfer is a short copy in memory. */
static int is_short_copy(const core_transfer* t) {
  return t->view.len < KEEP_GIL_BYTES && core.ptr(t->rank, t->offset) != NULL;
}

static int do_put(const core_transfer* t) {
  const uint64_t address = (uint64_t)(uintptr_t)t->view.buf;
  const size_t length = (size_t)t->view.len;
  if (t->strided)
    return core.ctx_put_strided(t->ctx, address, t->rank, t->offset, &t->block, NULL, OMPL_FOREVER);
  if (t->ctx == OMPL_CTX_DEFAULT) return core.put(address, t->rank, t->offset, length);
  return core.ctx_put(t->ctx, address, t->rank, t->offset, length, OMPL_FOREVER);
}

static int do_get(const core_transfer* t) {
  const uint64_t address = (uint64_t)(uintptr_t)t->view.buf;
  const size_t length = (size_t)t->view.len;
  if (t->strided)
    return core.ctx_get_strided(t->ctx, address, t->rank, t->offset, &t->block, OMPL_FOREVER);
  if (t->ctx == OMPL_CTX_DEFAULT) return core.get(address, t->rank, t->offset, length);
  return core.ctx_get(t->ctx, address, t->rank, t->offset, length, OMPL_FOREVER);
}

static int do_put_signal(const core_transfer* t, uint64_t flag) {
  const uint64_t address = (uint64_t)(uintptr_t)t->view.buf;
  const ompl_signal signal = {flag, 1, OMPL_ADD32};
  if (t->strided)
    return core.ctx_put_strided(t->ctx, address, t->rank, t->offset, &t->block, &signal, OMPL_FOREVER);
  return core.ctx_put_signal(t->ctx, address, t->rank, t->offset, (size_t)t->view.len, flag,
                             OMPL_FOREVER);
}

/* Releases the view and returns the method's result. */
static PyObject* finish(core_transfer* t, int code) {
  PyBuffer_Release(&t->view);
  return core_result(code);
}

/* Runs one of the above, without the GIL if it may take long. */
static int run(int (*operation)(const core_transfer*), const core_transfer* t) {
  if (is_short_copy(t)) return operation(t);
  int code;
  WITHOUT_GIL(code, operation(t));
  return code;
}

static int takes(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "takes %zd arguments, not %zd", wanted, count);
  return 0;
}

static PyObject* context_put(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  core_transfer t;
  if (!takes(count, 3) || !core_transfer_begin(&t, self, args, 0)) return NULL;
  return finish(&t, run(do_put, &t));
}

static PyObject* context_get(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  core_transfer t;
  if (!takes(count, 3) || !core_transfer_begin(&t, self, args, 1)) return NULL;
  return finish(&t, run(do_get, &t));
}

static int signal_word(ompl_ctx* ctx, uint32_t rank, uint64_t flag) {
  if (core.ptr(rank, flag) != NULL) {
    if (ctx == OMPL_CTX_DEFAULT) return core.put_word(rank, flag);
    return core.ctx_put_word(ctx, rank, flag, OMPL_FOREVER);
  }
  int code;
  WITHOUT_GIL(code, core.ctx_put_word(ctx, rank, flag, OMPL_FOREVER));
  return code;
}

static PyObject* context_put_word(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  ompl_ctx* ctx;
  uint32_t rank;
  uint64_t flag;
  if (!takes(count, 2) || !core_usable(self, &ctx) || !core_rank(args[0], &rank) ||
      !core_offset(args[1], &flag))
    return NULL;
  return core_result(signal_word(ctx, rank, flag));
}

static PyObject* context_put_signal(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  core_transfer t;
  uint64_t flag;
  if (!takes(count, 4) || !core_offset(args[3], &flag) || !core_transfer_begin(&t, self, args, 0))
    return NULL;
  PyThreadState* thread = is_short_copy(&t) ? NULL : PyEval_SaveThread();
  const int code = do_put_signal(&t, flag);
  if (thread != NULL) PyEval_RestoreThread(thread);
  return finish(&t, code);
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

static int attempt_fence(void* call, int64_t timeout_ns) {
  return core.ctx_fence(((waiting*)call)->ctx, OMPL_ALL_RANKS, timeout_ns);
}

static PyObject* context_wait(PyObject* self, PyObject* const* args, Py_ssize_t count,
                              PyObject* names) {
  waiting w;
  int64_t timeout_ns;
  if (!core_optional_timeout(args, count, names, 1, &timeout_ns) || !core_usable(self, &w.ctx) ||
      !core_offset(args[0], &w.flag))
    return NULL;
  return core_result(core_block(attempt_wait, &w, timeout_ns));
}

/* flush(), quiet() and fence(). */
static PyObject* complete(core_attempt attempt, PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) {
  waiting w = {OMPL_CTX_DEFAULT, 0};
  int64_t timeout_ns;
  if (!core_optional_timeout(args, count, names, 0, &timeout_ns) || !core_usable(self, &w.ctx))
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

static PyObject* context_fence(PyObject* self, PyObject* const* args, Py_ssize_t count,
                               PyObject* names) {
  return complete(attempt_fence, self, args, count, names);
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
  if (self->state == CORE_OPEN && !core_finalized) WITHOUT_GIL(code, core.ctx_destroy(self->handle));
  if (self->state == CORE_OPEN) self->state = CORE_CLOSED;
  return core_result(code);
}

#define SLOW(name, text) \
  { #name, (PyCFunction)(void (*)(void))core_##name, METH_VARARGS | METH_KEYWORDS, #name text }
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
    FAST(fence, METH_KEYWORDS,
         "($self, timeout=None)\n--\n\n"
         "What this context has sent to a rank becomes visible there before what it sends later."),
    SLOW(signal,
         "($self, rank, flag, value=1, set=False)\n--\n\n"
         "Adds `value` to the flag at (rank, flag), or sets it, after every earlier put of this "
         "context\n"
         "to that rank. A flag is a word of 32 bits, or of 64 if it is an Array of such."),
    SLOW(wait_until,
         "($self, flag, comparison, value, timeout=None)\n--\n\n"
         "Waits until `flag comparison value` holds: '==', '!=', '>', '>=', '<', '<=', modulo 2^32 "
         "(2^64).\n"
         "Takes nothing."),
    SLOW(
        wait_any,
        "($self, conditions, timeout=None)\n--\n\n"
        "Waits until one holds and returns its number. A condition is a flag, which is taken from, or\n"
        "(flag, comparison, value)."),
    SLOW(wait_some,
         "($self, conditions, timeout=None)\n--\n\n"
         "As wait_any(), and returns the numbers of all that hold, ascending."),
    SLOW(wait_all,
         "($self, conditions, timeout=None)\n--\n\n"
         "Waits until all hold at once, then takes from those that are flags: from all, or from none."),
    SLOW(wait_memory,
         "($self, word, comparison, value, timeout=None)\n--\n\n"
         "Waits until `word comparison value` holds, whoever changes it, also by a plain put. `word`: "
         "an Array\n"
         "of one integer of 8 to 64 bits, compared with its sign, or the offset of 32 bits without."),
    SLOW(wait_memory_any,
         "($self, conditions, timeout=None)\n--\n\n"
         "Waits until one holds and returns its number. A condition is (word, comparison, value)."),
    SLOW(wait_memory_some,
         "($self, conditions, timeout=None)\n--\n\n"
         "As wait_memory_any(), and returns the numbers of all that hold, ascending."),
    SLOW(wait_memory_all,
         "($self, conditions, timeout=None)\n--\n\n"
         "Waits until each has held, not necessarily all at one time."),
    SLOW(
        atomic,
        "($self, rank, word, op, operand=0, compare=0)\n--\n\n"
        "'fetch', 'swap', 'add', 'min', 'max', 'and', 'or', 'xor' or 'cswap' (stores `operand` if the\n"
        "word equals `compare`) on an Array of one number of 32 or 64 bits, with the arithmetic of\n"
        "its type; returns what it was. 'and', 'or' and 'xor' are for integers."),
    SLOW(update,
         "($self, rank, word, op, operand)\n--\n\n"
         "The same without the answer ('set' for 'swap'); complete after quiet()."),
    SLOW(progress,
         "($self, timeout=None)\n--\n\n"
         "Drives the communication of the rank; True if anything was found before the time was up."),
    SLOW(put_nb,
         "($self, source, rank, dest, flag=None)\n--\n\n"
         "put(), with the signal to `flag` if given, without waiting. Returns a Handle, or None if "
         "nothing\n"
         "could be posted: call progress(), then again. The source is in use until the Handle is done. "
         "Either side may be strided."),
    SLOW(get_nb, "($self, target, rank, source)\n--\n\nget() without waiting; see put_nb()."),
    SLOW(put_indexed,
         "($self, source, local, rank, dest, remote, flag=None)\n--\n\n"
         "Element local[i] of `source` goes to element remote[i] of `dest`, for each i, in messages of "
         "many\n"
         "elements; the indices are arrays of integers of 64 bits, or None: one element after the "
         "other. "
         "Both\n"
         "sides are contiguous. Returns and signals as put_nb() does; the indices may be changed at "
         "once."),
    SLOW(get_indexed,
         "($self, target, local, rank, source, remote)\n--\n\n"
         "Element remote[i] of `source` goes to element local[i] of `target`; see put_indexed()."),
    SLOW(handle_wait_any,
         "($self, handles, timeout=None)\n--\n\n"
         "Waits until one of the handles is done and returns its number; None if all were."),
    {"poll", context_poll, METH_O,
     "poll($self, flag, /)\n--\n\nWhether a wait for this rank's flag would return at once. Takes "
     "nothing."},
    {"close", context_close, METH_NOARGS,
     "close($self)\n--\n\nCompletes the context's operations and destroys it."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot context_slots[] = {
    {Py_tp_init, context_init}, {Py_tp_methods, context_methods}, {0, NULL}};
PyType_Spec core_context_spec = {"omnipgas._core.Context", sizeof(core_context), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots};
