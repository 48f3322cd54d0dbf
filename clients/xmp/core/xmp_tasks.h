/* SPDX-License-Identifier: BSD-3-Clause */
/* What libomnipgas-xmp calls of libomnipgas-xmp-tasklet, where a program is linked with both. */
#ifndef OMPL_XMP_TASKS_H
#define OMPL_XMP_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#define OMPL_XMP_API __attribute__((visibility("default")))
#ifdef OMPL_XMP_TASKS_DEFINED
#define OMPL_XMP_WEAK OMPL_XMP_API
/* Within libomnipgas-xmp-tasklet: ends the job unless `code` is positive or 0. */
__attribute__((visibility("hidden"))) void ompl_xmp_tasks_check(int code, const char* what);
#else
#define OMPL_XMP_WEAK OMPL_XMP_API __attribute__((weak)) /* NULL without that library */
#endif

/* Begins the use of tasks, unless that was done, and ends it. Collective; after ompl_init(), before ompl_finalize(). */
OMPL_XMP_WEAK void ompl_xmp_tasks_begin(void);
OMPL_XMP_WEAK void ompl_xmp_tasks_end(void);

/* Whether they have begun. */
OMPL_XMP_WEAK bool ompl_xmp_has_tasks(void);

/* Within a task: suspends it until the flag of this rank is positive, takes one from it, and returns true. Else false. */
OMPL_XMP_WEAK bool ompl_xmp_task_wait(uint64_t flag);

#endif
