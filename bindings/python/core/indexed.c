/* SPDX-License-Identifier: BSD-3-Clause */
/* put_indexed() and get_indexed(): elements at given places of both sides, without waiting. */
#include <stdint.h>
#include <string.h>

#include "core.h"

/* Where the elements of a side are; `offsets` NULL: one behind the other. */
typedef struct {
  uint64_t* offsets; /* in bytes; PyMem_Free() */
  Py_ssize_t count;  /* -1: not told */
} places;

/* Whether the elements are integers of 64 bits. */
static int is_of_integers(const Py_buffer* view) {
  return view->ndim == 1 && view->itemsize == 8 && view->format != NULL &&
         (view->format[1] == '\0' && strchr("lLqQ", view->format[0]) != NULL);
}

/* Reads indices, None for none; `elements`: that the side has, of so many bytes each. */
static int read_indices(PyObject* indices, Py_ssize_t elements, Py_ssize_t element, places* out) {
  *out = (places){NULL, -1};
  if (indices == Py_None) return 1;
  Py_buffer view;
  if (PyObject_GetBuffer(indices, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) return 0;
  int fine = is_of_integers(&view);
  if (!fine) PyErr_SetString(PyExc_TypeError, "indices are one row of integers of 64 bits, or None");
  const Py_ssize_t count = fine ? view.shape[0] : 0;
  if (fine) {
    out->count = count;
    out->offsets = PyMem_Malloc(count > 0 ? (size_t)count * sizeof(uint64_t) : 1);
    fine = out->offsets != NULL;
    if (!fine) PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; fine && i < count; ++i) {
    const uint64_t index = ((const uint64_t*)view.buf)[i];
    fine = index < (uint64_t)elements;
    if (fine)
      out->offsets[i] = index * (uint64_t)element;
    else
      PyErr_Format(PyExc_IndexError, "index %lld is not among the %zd elements of its side",
                   (long long)index, elements);
  }
  PyBuffer_Release(&view);
  return fine;
}

/* How many elements there are, which both sides agree on; -1 with an exception set. */
static Py_ssize_t count_of(const places* local, const places* remote, Py_ssize_t here,
                           Py_ssize_t there) {
  const Py_ssize_t count = local->count >= 0 ? local->count : remote->count >= 0 ? remote->count : here;
  if ((remote->count >= 0 && remote->count != count) || (local->count < 0 && count > here) ||
      (remote->count < 0 && count > there)) {
    PyErr_SetString(PyExc_ValueError, "the two sides differ in their number of elements");
    return -1;
  }
  return count;
}

/* The list of both sides' elements of a transfer whose view is held. */
static int read_list(const core_transfer* t, PyObject* remote_side, PyObject* local_indices,
                     PyObject* remote_indices, places* local, places* remote, ompl_indexed* list) {
  const core_section* section =
      PyObject_TypeCheck(remote_side, core_section_type) ? (core_section*)remote_side : NULL;
  const Py_buffer* view = &t->view;
  if (!PyBuffer_IsContiguous(view, 'C') || (section != NULL && !section->contiguous) ||
      (section != NULL && section->itemsize != view->itemsize)) {
    PyErr_SetString(PyExc_ValueError, "both sides have to be contiguous, of elements of one size");
    return 0;
  }
  const Py_ssize_t here = view->len / view->itemsize;
  const Py_ssize_t there =
      section != NULL ? section->nbytes / section->itemsize : PY_SSIZE_T_MAX / view->itemsize;
  if (!read_indices(local_indices, here, view->itemsize, local) ||
      !read_indices(remote_indices, there, view->itemsize, remote))
    return 0;
  const Py_ssize_t count = count_of(local, remote, here, there);
  if (count < 0) return 0;
  *list = (ompl_indexed){(size_t)view->itemsize, (size_t)count, local->offsets, remote->offsets};
  return 1;
}

/* `args`: the local side, its indices, the rank, the remote side, its indices. */
static PyObject* post(PyObject* self, PyObject* const* args, int is_get, PyObject* flag) {
  ompl_signal signal = {0, 1, OMPL_ADD32};
  const int signals = flag != NULL && flag != Py_None;
  if (signals && !core_offset(flag, &signal.flag_addr)) return NULL;
  core_transfer t;
  if (!core_usable(self, &t.ctx) || !core_rank(args[2], &t.rank) || !core_offset(args[3], &t.offset) ||
      PyObject_GetBuffer(args[0], &t.view, is_get ? PyBUF_STRIDED : PyBUF_STRIDED_RO) != 0)
    return NULL;
  places local = {NULL, -1}, remote = {NULL, -1};
  ompl_indexed list;
  ompl_handle* operation;
  PyObject* handle = NULL;
  if (!read_list(&t, args[3], args[1], args[4], &local, &remote, &list)) {
    PyBuffer_Release(&t.view);
  } else if ((handle = core_handle_begin(&t, &operation)) != NULL) {
    const uint64_t address = (uint64_t)(uintptr_t)t.view.buf;
    const int code = is_get ? core.get_indexed_nb(t.ctx, address, t.rank, t.offset, &list, operation)
                            : core.put_indexed_nb(t.ctx, address, t.rank, t.offset, &list,
                                                  signals ? &signal : NULL, 0, operation);
    handle = core_handle_end(handle, t.ctx, code);
  }
  PyMem_Free(local.offsets);
  PyMem_Free(remote.offsets);
  return handle;
}

PyObject* core_put_indexed(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"source", "local", "rank", "dest", "remote", "flag", NULL};
  PyObject* sides[5];
  PyObject* flag = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, names, "OOOOO|O", keywords, &sides[0], &sides[1], &sides[2],
                                   &sides[3], &sides[4], &flag))
    return NULL;
  return post(self, sides, 0, flag);
}

PyObject* core_get_indexed(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"target", "local", "rank", "source", "remote", NULL};
  PyObject* sides[5];
  if (!PyArg_ParseTupleAndKeywords(args, names, "OOOOO", keywords, &sides[0], &sides[1], &sides[2],
                                   &sides[3], &sides[4]))
    return NULL;
  return post(self, sides, 1, NULL);
}
