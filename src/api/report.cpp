// SPDX-License-Identifier: BSD-3-Clause
#include <omnipgas/ompl_report.h>

#include "core/failure/program_reports.hpp"

extern "C" {

int ompl_report_add(ompl_report_fn report, void* arg) { return ompl::add_report(report, arg); }
int ompl_report_remove(ompl_report_fn report, void* arg) { return ompl::remove_report(report, arg); }

}  // extern "C"
