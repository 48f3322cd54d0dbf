// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a tuner's table: refused with a line, or read and written again the same.
#include "coll/tuner/table.hpp"

#include "fuzz.hpp"

void fuzz::one_input(std::string_view bytes) {
  ompl::coll::Table table;
  const std::string wrong = ompl::coll::Table::parse(bytes, &table);
  if (!wrong.empty()) {
    require(table.empty() && wrong.find('\n') == std::string::npos);
    return;
  }
  ompl::coll::Table again;
  require(ompl::coll::Table::parse(table.text(), &again).empty());
  require(again.text() == table.text());
}
