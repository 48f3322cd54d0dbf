/* SPDX-License-Identifier: BSD-3-Clause */
#include "xmp_section_ompl.h"

#include <string.h>

/* From the innermost dimension outwards: one of a single element is none, and one that goes on where the inner one ends is part
 * of it. */
static void add_dimension(Section* section, size_t extent, ptrdiff_t stride) {
  const int inner = section->first;
  if (extent == 1) return;
  if (inner == OMPL_MAX_DIMENSIONS && stride == (ptrdiff_t)section->element) {
    section->element *= extent;
    return;
  }
  if (inner < OMPL_MAX_DIMENSIONS &&
      stride == (ptrdiff_t)section->extents[inner] * section->strides[inner]) {
    section->extents[inner] *= extent;
    return;
  }
  section->first = inner - 1;
  section->extents[inner - 1] = extent;
  section->strides[inner - 1] = stride;
}

Section ompl_xmp_section(const _XMP_array_section_t* info, int dimensions, size_t element) {
  Section section = {.element = element, .first = OMPL_MAX_DIMENSIONS};
  for (int i = dimensions - 1; i >= 0; --i)
    add_dimension(&section, (size_t)info[i].length, (ptrdiff_t)(info[i].stride * info[i].distance));
  return section;
}

bool ompl_xmp_same_shape(const Section* a, const Section* b) {
  if (a->element != b->element || a->first != b->first) return false;
  for (int i = a->first; i < OMPL_MAX_DIMENSIONS; ++i)
    if (a->extents[i] != b->extents[i]) return false;
  return true;
}

bool ompl_xmp_next(const Section* section, Cursor* cursor) {
  for (int i = OMPL_MAX_DIMENSIONS - 1; i >= section->first; --i) {
    cursor->at += section->strides[i];
    if (++cursor->index[i] < section->extents[i]) return true;
    cursor->at -= (ptrdiff_t)section->extents[i] * section->strides[i];
    cursor->index[i] = 0;
  }
  return false;
}

void ompl_xmp_pack(char* packed, const char* base, const Section* section) {
  Cursor cursor = {{0}, 0};
  do {
    memcpy(packed, base + cursor.at, section->element);
    packed += section->element;
  } while (ompl_xmp_next(section, &cursor));
}

void ompl_xmp_unpack(char* base, const char* packed, const Section* section) {
  Cursor cursor = {{0}, 0};
  do {
    memcpy(base + cursor.at, packed, section->element);
    packed += section->element;
  } while (ompl_xmp_next(section, &cursor));
}

void ompl_xmp_fill(char* packed, const char* element, size_t size, size_t count) {
  for (size_t i = 0; i < count; ++i) memcpy(packed + i * size, element, size);
}
