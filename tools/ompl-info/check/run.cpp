// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "arch/system_call.hpp"
#include "bootstrap/bootstrap.hpp"
#include "check/check.hpp"
#include "util/bytes.hpp"
#include "util/status.hpp"

namespace ompl::check {
namespace {

constexpr std::chrono::minutes kLauncherLimit{1};

enum class End : uint8_t { answered, died, late, not_begun };

struct Answer {
  End end = End::not_begun;
  int error = 0;  // errno of not_begun; a signal, or 0, of died
  std::string bytes{};
};

// What the child says until it closes its end, or until the limit.
bool read_all(int fd, std::chrono::milliseconds limit, std::string* bytes) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (arch::await_readable(fd, end) != 1) return false;
    char piece[4096];
    const ssize_t got = arch::uninterrupted([&] { return ::read(fd, piece, sizeof piece); });
    if (got <= 0) return true;
    bytes->append(piece, static_cast<std::size_t>(got));
  }
}

// What is printed meanwhile is nobody's.
void be_silent() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
}

[[noreturn]] void answer(int fd, const std::function<std::string()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  be_silent();
  const std::string said = work();
  for (std::string_view rest = said; !rest.empty();) {
    const ssize_t written = arch::uninterrupted([&] { return ::write(fd, rest.data(), rest.size()); });
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(0);  // no exit handlers: what the libraries do there is not asked about
}

Answer ask_child(std::chrono::milliseconds limit, const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {.error = errno};
  const pid_t child = ::fork();
  if (child == 0) answer(ends[1], work);
  Answer out{.error = errno};
  ::close(ends[1]);
  if (child > 0) {
    out.end = read_all(ends[0], limit, &out.bytes) ? End::answered : End::late;
    ::kill(-child, SIGKILL);  // with what it may have started; it has answered, or never will
    if (out.end == End::late) ::kill(child, SIGKILL);
    int status = 0;
    const bool known = arch::uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child;
    if (out.end == End::answered && out.bytes.empty()) {
      out.end = End::died;
      out.error = known && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
  }
  ::close(ends[0]);
  return out;
}

std::string pack(const Finding& finding) {
  return ByteWriter()
      .add(static_cast<uint8_t>(finding.verdict))
      .add(std::string_view(finding.found))
      .add(std::string_view(finding.means))
      .add(std::string_view(finding.change))
      .bytes();
}

bool unpack(std::string_view bytes, Finding* out) {
  ByteReader reader(bytes);
  uint8_t verdict = 0;
  reader.get(&verdict);
  out->verdict = static_cast<Verdict>(verdict);
  return reader.get(&out->found) && reader.get(&out->means) && reader.get(&out->change) &&
         reader.complete();
}

Finding look_here(const Check& check, const Surroundings& at) {
  try {
    return check.look(at);
  } catch (const std::exception& error) {
    return {.verdict = Verdict::note, .found = fmt::format("cannot be looked at: {}", error.what())};
  }
}

std::string name_of(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// Of a child that has given no answer, or none that can be read.
Finding bad_end(const Answer& answer, std::chrono::milliseconds limit) {
  std::string how = "the check ended without an answer";
  if (answer.end == End::late) {
    how = fmt::format("no answer within {} s", std::chrono::duration<double>(limit).count());
  } else if (answer.error != 0) {
    how = "the check was killed by " + name_of(answer.error);
  }
  return {.verdict = Verdict::fails,
          .found = std::move(how),
          .means = "a program that does the same hangs or dies in the same way",
          .change =
              "run ompl-info with OMPL_LOG=debug, which does the same aloud, and report what it says"};
}

Launched join(const Settings& settings) {
  std::unique_ptr<bootstrap::Bootstrap> session;
  if (bootstrap::connect(settings, &session) != OMPL_OK) return {.error = error_detail()};
  Launched out{.by = std::string(session->name()), .ranks = session->size()};
  const std::vector<uint32_t> nodes = session->node_map();
  out.on_node = nodes.empty()
                    ? out.ranks
                    : static_cast<uint32_t>(std::ranges::count(nodes, nodes[session->rank()]));
  out.nodes =
      std::max(1U, static_cast<uint32_t>(std::set<uint32_t>(nodes.begin(), nodes.end()).size()));
  if (session->finish() != OMPL_OK) out.error = error_detail();
  return out;
}

std::string pack(const Launched& launched) {
  return ByteWriter()
      .add(std::string_view(launched.by))
      .add(launched.ranks)
      .add(launched.on_node)
      .add(launched.nodes)
      .add(std::string_view(launched.error))
      .bytes();
}

bool unpack(std::string_view bytes, Launched* out) {
  ByteReader reader(bytes);
  reader.get(&out->by);
  reader.get(&out->ranks);
  reader.get(&out->on_node);
  reader.get(&out->nodes);
  return reader.get(&out->error) && reader.complete();
}

}  // namespace

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto checks :
       {checks_of_the_environment(), checks_of_limits(), checks_of_memory(), checks_of_processors(),
        checks_of_the_system(), checks_of_networks(), checks_of_libraries()})
    all.insert(all.end(), checks.begin(), checks.end());
  return all;
}

Finding look_apart(const Check& check, const Surroundings& at, std::chrono::milliseconds limit) {
  Finding finding;
  const Answer answer = ask_child(limit, [&] { return pack(look_here(check, at)); });
  if (answer.end ==
      End::not_begun) {  // no process is left to be had: that, too, is something to look at
    finding = look_here(check, at);
  } else if (answer.end != End::answered || !unpack(answer.bytes, &finding)) {
    finding = bad_end(answer, limit);
  }
  if (finding.verdict == Verdict::fine) return {.found = std::move(finding.found)};
  if (finding.means.empty()) finding.means = check.means;
  if (finding.change.empty()) finding.change = check.change;
  return finding;
}

Launched ask_launcher(const Settings& settings) {
  Launched launched;
  const Answer answer = ask_child(kLauncherLimit, [&] { return pack(join(settings)); });
  if (answer.end == End::not_begun || (answer.end == End::answered && unpack(answer.bytes, &launched)))
    return launched;
  return {.error = bad_end(answer, kLauncherLimit).found};
}

std::string Surroundings::variable(const char* name) const {
  if (lookup) {
    const char* value = lookup(name);
    return value != nullptr ? value : "";
  }
  const std::string begin = std::string(name) + "=";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(begin)) return std::string(text.substr(begin.size()));
  }
  return "";
}

Verdict verdict_of(std::span<const Row> rows) {
  Verdict worst = Verdict::fine;
  for (const Row& row : rows) worst = std::max(worst, row.finding.verdict);
  return worst;
}

int status_of(Verdict verdict) {
  return verdict == Verdict::fails ? 2 : verdict == Verdict::slow ? 1 : 0;
}

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace ompl::check
