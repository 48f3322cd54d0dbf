/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of arrays, as the layer and memcpy want them: contiguous elements, as large as they can be, at strides. */
#ifndef OMPL_XMP_SECTION_H
#define OMPL_XMP_SECTION_H

#include <omnipgas/ompl_ext.h>
#include <stdbool.h>

#include "xmp_internal.h" /* of libxmp */

/* Dimensions `first` .. OMPL_MAX_DIMENSIONS - 1, the last one the innermost; none if all is one element. Strides in bytes. */
typedef struct {
  size_t element;
  int first;
  size_t extents[OMPL_MAX_DIMENSIONS];
  ptrdiff_t strides[OMPL_MAX_DIMENSIONS];
} Section;

/* An element of a section, and its distance in bytes from the first one. Begin with zeros. */
typedef struct {
  size_t index[OMPL_MAX_DIMENSIONS];
  ptrdiff_t at;
} Cursor;

/* A section of elements of `element` bytes, in `dimensions` dimensions, none of length 0. */
Section ompl_xmp_section(const _XMP_array_section_t* info, int dimensions, size_t element);

/* Whether elements have equal sizes and the same order in both. */
bool ompl_xmp_same_shape(const Section* a, const Section* b);

/* Goes to the next element; false after the last. */
bool ompl_xmp_next(const Section* section, Cursor* cursor);

/* Copies a section that begins at `base` to contiguous memory, and back. */
void ompl_xmp_pack(char* packed, const char* base, const Section* section);
void ompl_xmp_unpack(char* base, const char* packed, const Section* section);

/* Stores `count` copies of an element of `size` bytes. */
void ompl_xmp_fill(char* packed, const char* element, size_t size, size_t count);

#endif
