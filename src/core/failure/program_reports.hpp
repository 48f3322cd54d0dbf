// SPDX-License-Identifier: BSD-3-Clause
// What the program adds to the hang report (ompl_report.h). Of the process, not of a job.
#pragma once

#include <omnipgas/ompl_report.h>

#include <string>

namespace ompl {

int add_report(ompl_report_fn report, void* argument);
int remove_report(ompl_report_fn report, void* argument);
std::string program_reports();

}  // namespace ompl
