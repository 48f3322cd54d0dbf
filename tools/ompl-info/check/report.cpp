// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "check/check.hpp"
#include "omnipgas/ompl.h"

namespace ompl::check {
namespace {

constexpr std::array<std::string_view, 4> kVerdicts{"fine", "note", "slow", "fails"};

// Words in lines of so many characters, each further line after that indent.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 112;
  std::string out;
  std::size_t used = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    if (used > indent && used + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > indent) {
      out += ' ';
    }
    out += word;
    used += word.size() + 1;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string_view text_of(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

std::string bytes_text(uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string table(std::span<const Row> rows) {
  constexpr std::size_t kVerdict = 7;
  constexpr std::size_t kIndent = kVerdict + 35;
  std::map<Verdict, int> count;
  std::string out = fmt::format("{:<{}}{}\n", "       check", kIndent, "found");
  for (const auto& [check, finding] : rows) {
    ++count[finding.verdict];
    const std::string name =
        fmt::format("{:<{}}{}: {}", text_of(finding.verdict), kVerdict, check.area, check.name);
    out += fmt::format("{:<{}}{}\n", name, kIndent, wrapped(finding.found, kIndent));
    for (const auto& [head, text] : {std::pair{"means", &finding.means}, {"change", &finding.change}}) {
      if (!text->empty())
        out += fmt::format("{:<{}}{:>6}: {}\n", "", kIndent - 8, head, wrapped(*text, kIndent));
    }
  }
  return out + fmt::format("\n{} fails, {} slow, {} note, {} fine\n", count[Verdict::fails],
                           count[Verdict::slow], count[Verdict::note], count[Verdict::fine]);
}

std::string json(const Surroundings& at, std::span<const Row> rows) {
  const Verdict worst = verdict_of(rows);
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& [check, finding] : rows) {
    findings.push_back({{"area", check.area},
                        {"name", check.name},
                        {"verdict", text_of(finding.verdict)},
                        {"found", finding.found},
                        {"means", finding.means},
                        {"change", finding.change}});
  }
  const nlohmann::json document{{"schema", "omnipgas-check-1"},
                                {"version", OMPL_VERSION_TEXT},
                                {"host", host_name()},
                                {"job",
                                 {{"ranks_per_node", at.plan.ranks},
                                  {"threads", at.plan.threads},
                                  {"nodes", at.plan.nodes},
                                  {"allocated_bytes", at.plan.allocated},
                                  {"launcher", at.launched.by}}},
                                {"verdict", text_of(worst)},
                                {"status", status_of(worst)},
                                {"findings", findings}};
  // Names of interfaces and files are bytes of any kind.
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ompl::check
