/* SPDX-License-Identifier: BSD-3-Clause */
/* What every example does with a result: go on, or say what went wrong and end the job. */
#ifndef OMNIPGAS_EXAMPLES_REQUIRE_H
#define OMNIPGAS_EXAMPLES_REQUIRE_H

#include <omnipgas/ompl.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns `result` if it is no error. Otherwise this rank exits, and the launcher ends the others. */
static inline int require(int result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s (%s)\n", what, ompl_strerror(result), ompl_error_detail());
    exit(EXIT_FAILURE);
  }
  return result;
}

#endif /* OMNIPGAS_EXAMPLES_REQUIRE_H */
