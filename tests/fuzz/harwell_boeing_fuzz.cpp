// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a Harwell-Boeing file: refused with file and line, or a matrix that keeps its own rules.
#include "fuzz.hpp"
#include "matrix_laws.hpp"
#include "solver/matrix/matrix_file.hpp"

void fuzz::one_input(std::string_view bytes) { check_reader(bytes, ompl::solver::read_harwell_boeing); }
