/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test rank can do with its bootstrap, step by step. In C, so that programs compiled by any MPI's
 * mpicc can mix these steps with their own. */
#ifndef BOOTSTRAP_STEPS_H
#define BOOTSTRAP_STEPS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Does the step and returns 1, or returns 0 if there is no such step. Exits with code 3 when a step fails.
 *   open          connects
 *   exchange      publishes values, reads those of all ranks and compares them
 *   show          prints "rank R of N by NAME, nodes A,B,..."
 *   miss          asks another rank for a value that it has not published
 *   finish        leaves properly
 *   abort:CODE    the last rank aborts the job; the others wait for it
 *   die:RANK:SIG  that rank kills itself; the others wait for it
 *   hang          waits forever */
__attribute__((visibility("default"))) int bootstrap_step(const char* step);

#ifdef __cplusplus
}
#endif

#endif
