// SPDX-License-Identifier: BSD-3-Clause
// Where a machine's table lies, and how it is read and replaced. One process of a job does both.
#pragma once

#include <string>

#include "coll/tuner/table.hpp"
#include "util/settings.hpp"

namespace ompl::coll {

class TableFile {
 public:
  // What OMPL_TUNER_TABLE says; else of this host in the user's cache folder, if there is one.
  explicit TableFile(const Settings& settings);
  // Empty: nothing is read or kept.
  [[nodiscard]] const std::string& path() const { return path_; }

  // Empty if there is none yet, or if it is damaged or of another version: a warning says so.
  [[nodiscard]] Table read() const;

  // Puts `found` into the file, which is never seen half written: it is renamed into its place. What another job has put there
  // since stays, but for the same kinds; one that writes at the same moment may be lost. A damaged file is kept beside it, as
  // PATH.old. What cannot be written is a warning.
  void add(const Table& found) const;

 private:
  std::string path_;
};

}  // namespace ompl::coll
