// SPDX-License-Identifier: BSD-3-Clause
// The MPI that this interposer is compiled for, and the layer below it.
#pragma once

#include <mpi.h>
#include <omnipgas/coll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>
