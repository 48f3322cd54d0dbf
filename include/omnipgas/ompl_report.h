/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a program's own in the hang report (OMPL_HANG_REPORT, SIGUSR1): for runtimes that know who waits for whom. */
#ifndef OMNIPGAS_OMPL_REPORT_H
#define OMNIPGAS_OMPL_REPORT_H

#include <omnipgas/ompl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes at most `capacity` bytes of text, the final 0 included, and returns how long the whole text is, without it. Called by
 * any thread that blocks in the library; must not call the library, nor wait for what a thread in the library may hold. */
typedef size_t (*ompl_report_fn)(char* text, size_t capacity, void* arg);

enum { OMPL_REPORTS = 16 /* at once */ };

/* Has every hang report of this rank end with what `report` writes, up to 64 KiB, until ompl_report_remove(). Any thread, any time.
 * Errors: OMPL_ERR_ARG, OMPL_ERR_MEMORY (there are OMPL_REPORTS already). */
OMPL_API int ompl_report_add(ompl_report_fn report, void* arg);

/* Ends what ompl_report_add(report, arg) began; once it returns, `report` is not being called for it. Any thread, any time, but not
 * within a report. Errors: OMPL_ERR_ARG (there is none). */
OMPL_API int ompl_report_remove(ompl_report_fn report, void* arg);

#ifdef __cplusplus
}
#endif

#endif /* OMNIPGAS_OMPL_REPORT_H */
