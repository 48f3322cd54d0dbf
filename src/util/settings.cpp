// SPDX-License-Identifier: BSD-3-Clause
#include "util/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "arch/machine.hpp"
#include "util/status.hpp"

extern char** environ;

namespace ompl {
namespace {

using Member = std::variant<std::size_t Settings::*, unsigned Settings::*, int Settings::*,
                            double Settings::*, std::string Settings::*, log::Level Settings::*>;

// What a number may be, besides what its type says.
struct NumberRange {
  std::size_t least = 0;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};
constexpr std::size_t kMostBytes = std::size_t{64}
                                   << 40;  // half of what processors with 47 bits can address
constexpr std::size_t kMostCount = 1'000'000'000;

struct Variable {
  std::string_view name;
  // "size", "count", "count above 0", "count or -1", "seconds", "text", choices "a|b|c", or "list of a|b|c"
  std::string_view type;
  Member member;
  std::string_view text;
  NumberRange range{};
};

// The one list of variables. The type decides how a value is read and what an error says is accepted.
constexpr std::array kVariables{
    Variable{"OMPL_SEGMENT_SIZE",
             "size",
             &Settings::segment_size,
             "Capacity of each rank's segment; memory is used only as it is allocated.",
             {.most = kMostBytes}},
    Variable{"OMPL_ENDPOINTS",
             "count",
             &Settings::endpoints,
             "Endpoints in each rank's pool; 0: chosen from the cores and OMPL_ENDPOINT_MEMORY.",
             {.most = 64}},
    Variable{"OMPL_ENDPOINT_MEMORY",
             "size",
             &Settings::endpoint_memory,
             "Memory that the connections of a rank may take, all made: the pool gets smaller; 0: any.",
             {.most = kMostBytes}},
    Variable{"OMPL_CONDUITS", "list of self|shm|verbs|ofi|tcp|ucx|utofu|psm2|mpi", &Settings::conduits,
             "Conduits that may be used, in order of preference, separated by commas. Where tcp is "
             "among them "
             "ofi leaves TCP to it, unless OMPL_OFI_PROVIDER asks for it. psm2 is in the default where "
             "there "
             "is a card of Omni-Path."},
    Variable{"OMPL_NODE_ID", "text", &Settings::node_id,
             "Identity of this node: ranks of different identity never share memory."},
    Variable{
        "OMPL_LAUNCHER", "auto|single|pmi1|pmix|mpi", &Settings::launcher,
        "How the ranks find each other; auto: an initialised MPI, else PMI-1, else PMIx, else alone."},
    Variable{"OMPL_PMIX_LIBRARY", "text", &Settings::pmix_library,
             "The libpmix.so.2 to load under PMIx; empty: MPI's, the launcher's own, or the system's."},
    Variable{"OMPL_CREDITS",
             "count above 0",
             &Settings::credits,
             "Signal records that each endpoint takes from a rank before it acknowledges some.",
             {.most = 1'000'000}},
    Variable{
        "OMPL_CALL_MEMORY",
        "size",
        &Settings::call_memory,
        "Memory of each rank's segment, at most, for remote calls of others; the same on every rank.",
        {.most = kMostBytes}},
    Variable{"OMPL_PROGRESS", "none|thread|auto", &Settings::progress,
             "Whether a thread serves other ranks while the program computes; auto: if puts need this "
             "rank's processor and a core is free. ompl_set_progress_thread() asks for it later."},
    Variable{
        "OMPL_PACK", "auto|always|never", &Settings::pack,
        "Whether strided and indexed data of short pieces travel packed over a network, which the "
        "target's "
        "progress unpacks; auto: where the network needs the target's progress for a put in any case. "
        "The same on every rank."},
    Variable{
        "OMPL_COLL_CHECK", "0|1", &Settings::coll_check,
        "Whether members of a team compare what they call before each collective, and name those that "
        "call another; the same on every rank."},
    Variable{"OMPL_COLL_MEMORY",
             "size",
             &Settings::coll_memory,
             "Memory of each rank's segment for the collectives of all its teams.",
             {.most = kMostBytes}},
    Variable{"OMPL_COLL_PROGRESS", "none|spare|shared|idle|node|auto", &Settings::coll_progress,
             "Who goes on with nonblocking collectives, until ompl_team_set_progress() says otherwise; "
             "auto: "
             "found by OMPL_TUNER=1, without it as none, the same on every rank."},
    Variable{"OMPL_COLL_SCHEDULER", "lock-free|locked-queue", &Settings::coll_scheduler,
             "How threads share collectives; locked-queue is slower, and for measurement only."},
    Variable{
        "OMPL_TUNER", "0|1", &Settings::tuner,
        "Whether collectives that leave the algorithm open get it by trials during the program's own "
        "calls; the same on every rank."},
    Variable{
        "OMPL_TUNER_EXPLAIN", "0|1", &Settings::tuner_explain,
        "Whether the first member of a team says on standard error what the tuner decides, and why."},
    Variable{"OMPL_TUNER_TABLE", "text", &Settings::tuner_table,
             "File where rank 0 keeps what the tuner has found, for later jobs; empty: one for this "
             "machine in the user's cache folder; none: it is not kept."},
    Variable{"OMPL_SPIN",
             "count or -1",
             &Settings::spin,
             "Polls of a waiter before its first yield; -1: chosen by the load on the cores.",
             {.most = kMostCount}},
    Variable{"OMPL_YIELDS",
             "count or -1",
             &Settings::yields,
             "Yields of a waiter before it sleeps; -1: chosen by the load on the cores.",
             {.most = kMostCount}},
    Variable{"OMPL_ON_PEER_DEATH", "error|abort|ignore", &Settings::on_peer_death,
             "When a rank dies or its connection breaks: waits fail, the job is aborted, or nothing "
             "happens."},
    Variable{"OMPL_HANG_REPORT",
             "seconds",
             &Settings::hang_report,
             "Time a call may block before a report of all threads is printed; 0: never.",
             {.most = kMostCount}},
    Variable{"OMPL_HUGE_PAGES", "auto|never", &Settings::huge_pages,
             "Whether segments may use huge pages where the system offers them."},
    Variable{"OMPL_GPU", "stage|refuse|off", &Settings::gpu,
             "Puts and gets whose local buffer is memory of a GPU: copied through pinned host memory, "
             "refused, or not looked for, which spares other puts and gets the question."},
    Variable{"OMPL_GPU_CHUNK",
             "size",
             &Settings::gpu_chunk,
             "Pinned host memory of a piece of such a transfer; two pieces are under way at a time.",
             {.least = 4096, .most = std::size_t{1} << 30}},
    Variable{
        "OMPL_VERBS_DEVICE", "text", &Settings::verbs_device,
        "InfiniBand or RoCE device, or its port (mlx5_0:1), to use; empty: the fastest active one."},
    Variable{"OMPL_VERBS_GID",
             "count or -1",
             &Settings::verbs_gid,
             "Index of the port's GID to use; -1: the best one.",
             {.most = 255}},
    Variable{"OMPL_VERBS_TRANSPORT", "auto|rc|xrc|dc", &Settings::verbs_transport,
             "How verbs connects; xrc and dc (mlx5) have never run on hardware; auto: rc, unless its "
             "connections would take too much memory."},
    Variable{
        "OMPL_VERBS_SEGMENT",
        "size",
        &Settings::verbs_segment,
        "Bytes of the segments that verbs cuts long puts into; from four segments on a put is long.",
        {.least = 512, .most = kMostBytes}},
    Variable{"OMPL_VERBS_STRIPE",
             "count",
             &Settings::verbs_stripe,
             "Endpoints that segments of one long put go over at most; 0: every put goes whole.",
             {.most = 64}},
    Variable{"OMPL_UTOFU_SEGMENT",
             "size",
             &Settings::utofu_segment,
             "The same as OMPL_VERBS_SEGMENT, over utofu.",
             {.least = 512, .most = kMostBytes}},
    Variable{"OMPL_UTOFU_STRIPE",
             "count",
             &Settings::utofu_stripe,
             "The same as OMPL_VERBS_STRIPE, over utofu, where each endpoint has a TNI of six.",
             {.most = 64}},
    Variable{"OMPL_OFI_PROVIDER", "text", &Settings::ofi_provider,
             "libfabric provider to use: tcp, tcp;ofi_rxm, net/rdm, shm...; empty: the first usable "
             "one of the built-in preference."},
    Variable{
        "OMPL_NET_INTERFACE", "text", &Settings::net_interface,
        "Interfaces, addresses or subnets of IP that tcp, ofi, ucx (unless UCX_NET_DEVICES is set) and "
        "the "
        "liveness probes of verbs, psm2 and mpi use, with commas between: eth0,192.0.2.0/24; empty: "
        "all, "
        "the most plausible first."},
    Variable{"OMPL_OFI_INTERFACE", "text", &Settings::ofi_interface,
             "Former name of OMPL_NET_INTERFACE, used if that is not set; goes with the next soname."},
    Variable{"OMPL_CONNECT_TIMEOUT",
             "seconds",
             &Settings::connect_timeout,
             "How long the addresses of a rank are tried over TCP before it counts as out of reach.",
             {.least = 1, .most = 3600}},
    Variable{"OMPL_STATISTICS", "0|1", &Settings::statistics,
             "Whether contexts count their operations (ompl_ctx_statistics), at some cost."},
    Variable{"OMPL_LOG", "off|error|warn|info|debug", &Settings::log_level,
             "Least important kind of line that is logged on standard error."},
};

constexpr std::string_view kUnits = "KMGT";

constexpr std::string_view kList = "list of ";

bool is_list(std::string_view type) { return type.starts_with(kList); }
bool is_choice(std::string_view type) {
  return type.find('|') != std::string_view::npos && !is_list(type);
}

// The place of `value` among the choices of an "a|b|c" type.
std::optional<std::size_t> choice_index(std::string_view type, std::string_view value) {
  for (std::size_t index = 0;; ++index) {
    const auto bar = type.find('|');
    if (type.substr(0, bar) == value) return index;
    if (bar == std::string_view::npos) return std::nullopt;
    type.remove_prefix(bar + 1);
  }
}

// Whether `value` names one or more of the choices of a "list of a|b|c" type, separated by commas.
bool is_list_of(std::string_view type, std::string_view value) {
  type.remove_prefix(kList.size());
  bool any = false;
  while (!value.empty()) {
    const std::string_view name = value.substr(0, value.find(','));
    value.remove_prefix(std::min(name.size() + 1, value.size()));
    if (!name.empty() && !choice_index(type, name)) return false;
    any = any || !name.empty();
  }
  return any;
}

std::string_view choice_name(std::string_view type, std::size_t index) {
  for (; index > 0; --index) type.remove_prefix(type.find('|') + 1);
  return type.substr(0, type.find('|'));
}

template <class Number>
std::optional<Number> parse_number(std::string_view value) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

// A positive number of bytes: digits, then at most one of K, M, G, T (powers of 1024).
std::optional<std::size_t> parse_size(std::string_view value) {
  unsigned shift = 0;
  if (!value.empty()) {
    const auto unit = kUnits.find(value.back() & ~0x20);  // upper case
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<unsigned>(unit + 1);
      value.remove_suffix(1);
    }
  }
  const auto number = parse_number<std::size_t>(value);
  if (!number || *number == 0 || *number > std::numeric_limits<std::size_t>::max() >> shift) {
    return std::nullopt;
  }
  return *number << shift;
}

std::string format_size(std::size_t bytes) {
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::to_string(bytes) : fmt::format("{}{}", bytes, kUnits[unit - 1]);
}

std::string accepted(std::string_view type, const NumberRange& range) {
  if (type == "size") {
    return fmt::format(
        "a number of bytes from {} to {}, with K, M, G or T after it if you like: 64M, 16G",
        std::max<std::size_t>(range.least, 1), format_size(range.most));
  }
  if (type == "count") return fmt::format("a whole number from {} to {}", range.least, range.most);
  if (type == "count above 0")
    return fmt::format("a whole number from {} to {}", std::max<std::size_t>(range.least, 1),
                       range.most);
  if (type == "count or -1")
    return fmt::format("a whole number from {} to {}, or -1", range.least, range.most);
  if (type == "seconds")
    return fmt::format("a number of seconds from {} to {}: 0.5, 30", range.least, range.most);
  if (is_list(type))
    return fmt::format("one or more of {}, separated by commas", type.substr(kList.size()));
  return fmt::format("one of {}", type);
}

// The type as a reader sees it: a number with its range.
std::string shown_type(std::string_view type, const NumberRange& range) {
  if (type == "size")
    return fmt::format("size from {} to {}", std::max<std::size_t>(range.least, 1),
                       format_size(range.most));
  if (type == "count above 0")
    return fmt::format("count from {} to {}", std::max<std::size_t>(range.least, 1), range.most);
  if (type == "count or -1") return fmt::format("count from {} to {} or -1", range.least, range.most);
  if (type == "count" || type == "seconds")
    return fmt::format("{} from {} to {}", type, range.least, range.most);
  return std::string(type);
}

// Stores `value` in the member of `settings`; false if the variable does not accept it.
struct Store {
  Settings& settings;
  std::string_view type;
  std::string_view value;
  const NumberRange& range;

  template <class T>
  bool put(T Settings::*member, std::optional<T> parsed) const {
    if (parsed) settings.*member = *parsed;
    return parsed.has_value();
  }
  // Of a number that is not negative.
  template <class T>
  [[nodiscard]] bool is_within(T number) const {
    return number >= static_cast<T>(range.least) &&
           (std::is_floating_point_v<T> ? static_cast<double>(number) <= static_cast<double>(range.most)
                                        : static_cast<std::size_t>(number) <= range.most);
  }
  bool operator()(std::size_t Settings::*member) const {
    const auto number = parse_size(value);
    return number && is_within(*number) && put(member, number);
  }
  bool operator()(unsigned Settings::*member) const {
    const auto number = parse_number<unsigned>(value);
    return number && (*number > 0 || type == "count") && is_within(*number) && put(member, number);
  }
  bool operator()(int Settings::*member) const {
    const auto number = parse_number<int>(value);
    return number && (*number == -1 || (*number >= 0 && is_within(*number))) && put(member, number);
  }
  bool operator()(double Settings::*member) const {
    const auto number = parse_number<double>(value);
    return number && std::isfinite(*number) && *number >= 0 && is_within(*number) &&
           put(member, number);
  }
  bool operator()(std::string Settings::*member) const {
    if (is_choice(type) && !choice_index(type, value)) return false;
    if (is_list(type) && !is_list_of(type, value)) return false;
    settings.*member = value;
    return true;
  }
  bool operator()(log::Level Settings::*member) const {
    const auto index = choice_index(type, value);
    return index && put(member, std::optional(static_cast<log::Level>(*index)));
  }
};

// The member of `settings` as one would write it.
struct Show {
  const Settings& settings;
  std::string_view type;

  std::string operator()(std::size_t Settings::*member) const { return format_size(settings.*member); }
  std::string operator()(log::Level Settings::*member) const {
    return std::string(choice_name(type, static_cast<std::size_t>(settings.*member)));
  }
  template <class T>
  std::string operator()(T Settings::*member) const {
    return fmt::format("{}", settings.*member);
  }
};

// Edit distance (Levenshtein), one row of the table at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

const char* look_up(const Settings::Lookup& lookup, std::string_view name) {
  return lookup ? lookup(name.data()) : ::secure_getenv(name.data());  // names are literals: terminated
}

// By the XDG Base Directory Specification; a path that is not absolute does not count.
std::string user_cache(const Settings::Lookup& lookup) {
  const char* const cache = look_up(lookup, "XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return cache;
  const char* const home = look_up(lookup, "HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" : std::string();
}

}  // namespace

std::string default_conduits() {
  static const bool omni_path = arch::has_file(arch::kOmniPathDevices);
  return omni_path ? "self,shm,verbs,psm2,ofi,tcp" : "self,shm,verbs,ofi,tcp";
}

int Settings::read(Settings* out, const Lookup& lookup) {
  Settings settings;
  if (const auto refused = read_usable(&settings, lookup); !refused.empty())
    return fail(OMPL_ERR_ARG, "{}", refused.front());
  *out = std::move(settings);
  return OMPL_OK;
}

std::vector<std::string> Settings::read_usable(Settings* out, const Lookup& lookup) {
  std::vector<std::string> refused;
  for (const auto& variable : kVariables) {
    const char* value = look_up(lookup, variable.name);
    if (value == nullptr) continue;
    if (!std::visit(Store{*out, variable.type, value, variable.range}, variable.member)) {
      refused.push_back(fmt::format("{}=\"{}\" is not usable; set it to {}", variable.name, value,
                                    accepted(variable.type, variable.range)));
    }
  }
  out->cache_folder = user_cache(lookup);
  const char* const devices = look_up(lookup, "PSM2_DEVICES");
  out->psm2_devices = devices != nullptr ? devices : "";
  return refused;
}

void Settings::apply_log_level(const Lookup& lookup) {
  const auto log = std::ranges::find(kVariables, "OMPL_LOG", &Variable::name);
  const char* const value = look_up(lookup, log->name);
  if (value == nullptr) return;
  if (const auto index = choice_index(log->type, value); index)
    log::set_level(static_cast<log::Level>(*index));
}

std::vector<Settings::Row> Settings::describe(const Lookup& lookup) const {
  const Settings defaults;
  std::vector<Row> rows;
  rows.reserve(kVariables.size());
  for (const auto& variable : kVariables) {
    rows.push_back({std::string(variable.name), shown_type(variable.type, variable.range),
                    std::visit(Show{defaults, variable.type}, variable.member),
                    std::visit(Show{*this, variable.type}, variable.member),
                    look_up(lookup, variable.name) != nullptr, std::string(variable.text)});
  }
  return rows;
}

std::vector<Settings::Stranger> Settings::strangers() {
  constexpr std::size_t kMostErrors = 2;
  std::vector<Stranger> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    if (!name.starts_with("OMPL_")) continue;
    const auto near = std::min_element(
        kVariables.begin(), kVariables.end(),
        [&](const auto& a, const auto& b) { return distance(name, a.name) < distance(name, b.name); });
    const auto errors = distance(name, near->name);
    if (errors == 0) continue;
    found.push_back({std::string(name), std::string(errors <= kMostErrors ? near->name : "")});
  }
  return found;
}

void Settings::warn_of_near_misses() {
  for (const Stranger& stranger : strangers()) {
    if (stranger.meant.empty()) continue;
    log::warn("{} is not a variable of this library and has no effect; did you mean {}?", stranger.name,
              stranger.meant);
  }
}

}  // namespace ompl
