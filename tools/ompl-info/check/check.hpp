// SPDX-License-Identifier: BSD-3-Clause
// Checks of a machine, or of what a job gets of it: what would make a job of this layer slow, or fail. A check is a row of a
// table: a name, a function that looks, what a bad finding means, and what to change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/settings.hpp"

namespace ompl::check {

// note: worth knowing, and neither slow nor a failure; also what could not be looked at. The numbers order them.
enum class Verdict : uint8_t { fine, note, slow, fails };
std::string_view text_of(Verdict verdict);

// The job that is asked about, as far as one node sees it.
struct Plan {
  uint32_t ranks = 1;         // on this node
  uint32_t threads = 1;       // of each rank
  uint32_t nodes = 1;         // of the job
  std::size_t allocated = 0;  // bytes that each rank allocates
};

// What the launcher, if any, says of this process.
struct Launched {
  std::string by = "single";  // as Bootstrap::name()
  uint32_t ranks = 1;         // of the job,
  uint32_t on_node = 1;       // on this node,
  uint32_t nodes = 1;         // and their nodes, as far as the launcher knows
  std::string error{};        // why this process cannot join its job; "": it can
};

struct Surroundings {
  std::string root{};  // where /proc, /sys and /dev are found; "": the machine's own. For tests.
  Settings settings{};
  Settings::Lookup lookup{};  // of variables of the environment; empty: secure_getenv()
  Plan plan{};
  Launched launched{};
  std::string build_type{};
  std::string sanitizers{};

  [[nodiscard]] std::string variable(const char* name) const;  // "" if it is not set
  // Of what matters only between nodes: a note in a job of one node.
  [[nodiscard]] Verdict between_nodes(Verdict verdict) const {
    return plan.nodes > 1 ? verdict : Verdict::note;
  }
};

struct Finding {
  Verdict verdict = Verdict::fine;
  std::string found{};
  std::string means{};   // in place of the check's own text, if it is not empty
  std::string change{};  // the same
};

struct Check {
  std::string_view area;
  std::string_view name;
  Finding (*look)(const Surroundings& at);
  std::string_view means;   // that what is found is not fine
  std::string_view change;  // then
};

// All of them, in the order in which they are shown.
std::vector<Check> all_checks();
// Those of each area.
std::span<const Check> checks_of_limits();
std::span<const Check> checks_of_memory();
std::span<const Check> checks_of_processors();
std::span<const Check> checks_of_the_system();
std::span<const Check> checks_of_networks();
std::span<const Check> checks_of_libraries();
std::span<const Check> checks_of_the_environment();

// Looks in a child process, so that a library that crashes, hangs or prints harms nothing else: such an end is a finding that
// fails. Texts that a fine finding does not need are empty, others are never empty where the check has them.
Finding look_apart(const Check& check, const Surroundings& at,
                   std::chrono::milliseconds limit = std::chrono::minutes(1));

// Whether this process can join its launcher's job. In a child process too, within a minute; the session is ended again.
Launched ask_launcher(const Settings& settings);

struct Row {
  Check check;
  Finding finding;
};

// The worst of all rows. The program's exit status is 0 for fine and note, 1 for slow, 2 for fails.
Verdict verdict_of(std::span<const Row> rows);
int status_of(Verdict verdict);

std::string table(std::span<const Row> rows);
// A document of instruments/omni/omnipgas_tools/doctor/findings.schema.json.
std::string json(const Surroundings& at, std::span<const Row> rows);

// "1.5 GiB"
std::string bytes_text(uint64_t bytes);
// The first line of a file; "" if there is none.
std::string line_of(const std::string& path);
// The names in a folder, sorted; none if it is not there.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace ompl::check
