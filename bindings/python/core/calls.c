/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote calls: functions of Python that other ranks call, and calls of theirs. */
#include "core.h"

/* Of this thread: functions under way, 0 or 1. */
static _Thread_local int running = 0;

/* The value of a reply: what a function has returned. 0 with an exception set if it is no int of 64 bits, or None. */
static int read_result(PyObject* result, uint64_t* value) {
  *value = 0;
  if (result == Py_None) return 1;
  PyObject* const whole = PyNumber_Index(result);
  if (whole == NULL) return 0;
  *value = (uint64_t)PyLong_AsLongLong(whole);
  Py_DECREF(whole);
  return PyErr_Occurred() == NULL;
}

/* Tells the caller, and sys.unraisablehook of this rank, what was raised. Ctrl-C is the program's: it comes again. */
static void report_raised(PyObject* function) {
  const int interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  PyObject *type, *raised, *trace;
  PyErr_Fetch(&type, &raised, &trace);
  PyErr_NormalizeException(&type, &raised, &trace);
  PyObject* const text = raised != NULL ? PyObject_Repr(raised) : NULL;
  const char* const why = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  core.call_fail(why != NULL ? why : "an exception of Python");
  Py_XDECREF(text);
  PyErr_Clear();
  PyErr_Restore(type, raised, trace);
  PyErr_WriteUnraisable(function);
  if (interrupted) PyErr_SetInterrupt();
}

/* ompl_call_fn. The thread may have the GIL, have given it away, or never have had it; and it may be handling an exception. */
static uint64_t run(void* user, const ompl_call_context* call) {
  const PyGILState_STATE state = PyGILState_Ensure();
  running = 1;
  PyObject *type, *before, *trace;
  PyErr_Fetch(&type, &before, &trace);
  uint64_t value = 0;
  PyObject* const result = PyObject_CallFunction(
      (PyObject*)user, "Iy#Kn", (unsigned int)call->source, (const char*)call->arguments,
      (Py_ssize_t)call->length, (unsigned long long)call->payload, (Py_ssize_t)call->payload_length);
  if (result == NULL || !read_result(result, &value)) report_raised((PyObject*)user);
  Py_XDECREF(result);
  PyErr_Restore(type, before, trace);
  running = 0;
  PyGILState_Release(state);
  return value;
}

/* call_register(name, function): its number. The function is kept for good: others may call it until the job ends. */
PyObject* core_call_register(PyObject* module, PyObject* args) {
  (void)module;
  const char* name;
  PyObject* function;
  uint32_t number = 0;
  int code;
  if (!PyArg_ParseTuple(args, "sO", &name, &function)) return NULL;
  Py_INCREF(function);
  WITHOUT_GIL(code, core.call_register(name, run, function, &number));
  if (code >= 0) return PyLong_FromUnsignedLong(number);
  Py_DECREF(function);
  return core_raise(code);
}

/* A call under way. What the library may still write or read lives until it is complete. */
typedef struct {
  ompl_call_request request;
  uint32_t rank;
  Py_buffer arguments; /* obj NULL: none */
  Py_buffer payload;
  ompl_handle handle;
  uint64_t reply;
} under_way;

static int attempt_call(void* call, int64_t timeout_ns) {
  under_way* c = call;
  return core.call(OMPL_CTX_DEFAULT, c->rank, &c->request, NULL, timeout_ns);
}

/* OMPL_PENDING once it is sent. */
static int attempt_post(void* call, int64_t timeout_ns) {
  under_way* c = call;
  const int code = core.call_nb(OMPL_CTX_DEFAULT, c->rank, &c->request, &c->reply, &c->handle);
  if (code <= OMPL_PENDING) return code;
  const int moved = core.progress(OMPL_CTX_DEFAULT, timeout_ns < 1000000 ? timeout_ns : 1000000);
  return moved < 0 ? moved : OMPL_ERR_TIMEOUT;
}

static int attempt_reply(void* call, int64_t timeout_ns) {
  return core.handle_wait(OMPL_CTX_DEFAULT, &((under_way*)call)->handle, timeout_ns);
}

static PyObject* release(under_way* c, PyObject* result) {
  PyBuffer_Release(&c->arguments);
  PyBuffer_Release(&c->payload);
  PyMem_Free(c);
  return result;
}

/* None; the number of a retry is an error here: a function has made more calls than can be queued. */
static PyObject* call_result(int code) { return code > 0 ? core_raise(code) : core_result(code); }

/* What a function may not do. */
static int refuse_to_ask(under_way* c) {
  int code;
  WITHOUT_GIL(code, core.call(OMPL_CTX_DEFAULT, c->rank, &c->request, &c->reply, 0));
  return code;
}

/* With a reply. Whoever is interrupted or runs out of time leaves the call under way: its memory is never given back then. */
static PyObject* ask(under_way* c, int64_t timeout_ns) {
  if (running) return release(c, call_result(refuse_to_ask(c)));
  int code = core_block_released(attempt_post, c, timeout_ns);
  if (code != OMPL_PENDING) return release(c, core_raise(code));
  code = core_block_released(attempt_reply, c, timeout_ns);
  if (code == OMPL_ERR_TIMEOUT || code == CORE_RAISED) return core_raise(code);
  return release(c, code < 0 ? core_raise(code) : PyLong_FromLongLong((int64_t)c->reply));
}

/* call(number, rank, arguments, payload or None, dest or None, wanted, timeout) */
PyObject* core_call(PyObject* module, PyObject* args) {
  (void)module;
  unsigned int number;
  PyObject *rank, *arguments, *payload, *dest, *timeout;
  int wanted;
  int64_t timeout_ns;
  if (!PyArg_ParseTuple(args, "IOOOOpO", &number, &rank, &arguments, &payload, &dest, &wanted,
                        &timeout) ||
      !core_timeout(timeout, &timeout_ns))
    return NULL;
  under_way* const c = PyMem_Calloc(1, sizeof *c);
  if (c == NULL) return PyErr_NoMemory();
  c->request.function = number;
  if (!core_rank(rank, &c->rank) || PyObject_GetBuffer(arguments, &c->arguments, PyBUF_SIMPLE) != 0 ||
      (payload != Py_None && (!core_offset(dest, &c->request.dest_addr) ||
                              PyObject_GetBuffer(payload, &c->payload, PyBUF_SIMPLE) != 0)))
    return release(c, NULL);
  c->request.arguments = c->arguments.buf;
  c->request.length = (size_t)c->arguments.len;
  c->request.src_addr = (uint64_t)(uintptr_t)c->payload.buf;
  c->request.payload_length = (size_t)c->payload.len;
  if (wanted) return ask(c, timeout_ns);
  return release(c, call_result(core_block_released(attempt_call, c, timeout_ns)));
}
