// SPDX-License-Identifier: BSD-3-Clause
// What tuners have found on a machine: by kind of call, what each choice took; and what messages cost there. As text it is versioned JSON, which `omni tune` reads too.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coll/tuner/machine.hpp"

namespace ompl::coll {

class Table {
 public:
  static constexpr int kVersion = 2;

  struct Entry {
    uint64_t calls = 0;                          // that were tuned
    std::map<TunerChoice, double> microseconds;  // above 0

    bool operator==(const Entry&) const = default;
  };

  // Empty, or what is wrong with the text; *table is then untouched.
  static std::string parse(std::string_view text, Table* table);
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::map<CallKind, Entry>& entries() const { return entries_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  // Of each of these choices, in seconds; 0: not known.
  [[nodiscard]] std::vector<double> known(const CallKind& kind,
                                          std::span<const TunerChoice> choices) const;

  // Of two of one kind that with more calls stays.
  void add(const CallKind& kind, Entry entry);
  // Its entries take the place of those here.
  void overwrite(const Table& newer);

  bool operator==(const Table&) const = default;

 private:
  std::map<CallKind, Entry> entries_;
  Machine machine_;  // `omni tune model` writes it
};

}  // namespace ompl::coll
