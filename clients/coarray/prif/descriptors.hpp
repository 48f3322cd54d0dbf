// SPDX-License-Identifier: BSD-3-Clause
// Fortran's descriptors in C, as the compiler has them that compiles Caffeine: their layout and their numbers of types are its own.
#pragma once

#include <ISO_Fortran_binding.h>
