// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/pmi1.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <thread>

#include "bootstrap/environment.hpp"
#include "bootstrap/mpi.hpp"
#include "bootstrap/pmi1_connection.hpp"
#include "bootstrap/pmi1_wire.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

using pmi1::line;
using pmi1::Pmi1Connection;
using pmi1::Pmi1Message;

// Longest piece of a value. Some launchers read lines into 1,024 bytes whatever limits they announce.
constexpr std::size_t kMaxPiece = 800;

// The session that ends at the exit of the process; see the top of pmi1.hpp. The only global, because
// exit handlers take no argument; and the process whose exit it is, not that of its children.
Pmi1Session g_session_put_off;
pid_t g_pmi1_put_off_by = 0;

int send_finalize(const Pmi1Session& session) {
  Pmi1Message answer;
  return Pmi1Connection(session.fd, session.limit).request(line("finalize"), "finalize_ack", &answer);
}

void finalize_session_at_exit() {
  if (::getpid() != g_pmi1_put_off_by) return;  // the child of a fork
  const auto phase = mpi_phase();
  if (phase == MpiPhase::absent || phase == MpiPhase::before_init) send_finalize(g_session_put_off);
}

class Pmi1 final : public Bootstrap {
 public:
  explicit Pmi1(const Pmi1Session& session)
      : session_(session), connection_(session.fd, session.limit) {}

  int open();

  [[nodiscard]] std::string_view name() const override { return "pmi1"; }
  [[nodiscard]] uint32_t rank() const override { return session_.rank; }
  [[nodiscard]] uint32_t size() const override { return session_.size; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return node_map_; }

  int set(std::string_view key, std::string_view value) override;
  int fence() override;
  int get(uint32_t rank, std::string_view key, std::string* value) override;
  int finish() override;
  void abort(int exit_code, std::string_view why) override;

 private:
  int handshake();
  void read_mapping();
  int read_word(const std::string& name, std::string* word);
  // The launcher's name of a piece: prefixed, so that MPI's own keys never clash.
  static std::string piece_name(uint32_t rank, std::string_view key, std::size_t piece) {
    return fmt::format("ompl-{}-{}-{}", rank, key, piece);
  }

  Pmi1Session session_;
  Pmi1Connection connection_;
  std::string kvs_;
  std::size_t max_key_ = 0;
  std::size_t max_value_ = 0;
  std::vector<uint32_t> node_map_;
};

int Pmi1::open() {
  const int result = handshake();
  if (result == OMPL_OK) read_mapping();
  return result;
}

int Pmi1::handshake() {
  Pmi1Message answer;
  int result = connection_.request(line("init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}),
                                   "response_to_init", &answer);
  if (result != OMPL_OK) return result;
  if (answer.field("rc") != "0") {
    return fail(OMPL_ERR_LAUNCH, "the launcher does not speak PMI version 1; start with omplrun");
  }
  result = connection_.request(line("get_maxes"), "maxes", &answer);
  if (result != OMPL_OK) return result;
  max_key_ = answer.number("keylen_max").value_or(0);
  max_value_ = std::min<std::size_t>(answer.number("vallen_max").value_or(0), kMaxPiece);
  if (max_key_ < 32 || max_value_ < 32) {
    return fail(OMPL_ERR_LAUNCH,
                "the launcher's PMI allows keys of {} and values of {} bytes; "
                "32 of each are needed",
                max_key_, max_value_);
  }
  result = connection_.request(line("get_my_kvsname"), "my_kvsname", &answer);
  if (result != OMPL_OK) return result;
  kvs_ = answer.field("kvsname").value_or("");
  if (!pmi1::is_word(kvs_)) return fail(OMPL_ERR_LAUNCH, "the launcher's PMI named no key-value space");
  return OMPL_OK;
}

// The layout of nodes is a hint: a launcher without it is fine.
void Pmi1::read_mapping() {
  Pmi1Message answer;
  const auto request = line("get", {{"kvsname", kvs_}, {"key", "PMI_process_mapping"}});
  if (connection_.request(request, "get_result", &answer) != OMPL_OK || answer.field("rc") != "0")
    return;
  const auto text = answer.field("value").value_or("");
  if (auto map = pmi1::parse_mapping(text, session_.size)) {
    node_map_ = std::move(*map);
  } else {
    log::info("PMI_process_mapping=\"{}\" is not understood and ignored", text);
  }
}

int Pmi1::set(std::string_view key, std::string_view value) {
  const auto words = pmi1::split_value(value, max_value_ - 1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = piece_name(session_.rank, key, i);
    if (!pmi1::is_word(name) || name.size() >= max_key_) {
      return fail(OMPL_ERR_LAUNCH, "the key \"{}\" does not fit into PMI; take a shorter word", key);
    }
    Pmi1Message answer;
    const int result = connection_.request(
        line("put", {{"kvsname", kvs_}, {"key", name}, {"value", words[i]}}), "put_result", &answer);
    if (result != OMPL_OK) return result;
    if (answer.field("rc") != "0") {
      return fail(OMPL_ERR_LAUNCH, "the launcher refused the key {}: {}", name,
                  answer.field("msg").value_or("no reason given"));
    }
  }
  return OMPL_OK;
}

int Pmi1::fence() {
  Pmi1Message answer;
  return connection_.request(line("barrier_in"), "barrier_out", &answer);
}

int Pmi1::read_word(const std::string& name, std::string* word) {
  Pmi1Message answer;
  const int result =
      connection_.request(line("get", {{"kvsname", kvs_}, {"key", name}}), "get_result", &answer);
  if (result != OMPL_OK) return result;
  const auto value = answer.field("value");
  if (answer.field("rc") != "0" || !value) {
    return fail(OMPL_ERR_LAUNCH, "the launcher has no value under {}", name);
  }
  *word = *value;
  return OMPL_OK;
}

int Pmi1::get(uint32_t rank, std::string_view key, std::string* value) {
  std::vector<std::string> words(1);
  int result = read_word(piece_name(rank, key, 0), words.data());
  const auto count = pmi1::word_count(words.front());
  for (std::size_t i = 1; result == OMPL_OK && i < count.value_or(1); ++i) {
    result = read_word(piece_name(rank, key, i), &words.emplace_back());
  }
  if (result != OMPL_OK) return result;
  auto joined = pmi1::join_value(words);
  if (!joined) return fail(OMPL_ERR_LAUNCH, "the launcher garbled what rank {} published", rank);
  *value = std::move(*joined);
  return OMPL_OK;
}

int Pmi1::finish() {
  if (!mpi_may_use_pmi1()) return send_finalize(session_);
  if (mpi_phase() == MpiPhase::before_init) {
    g_session_put_off = session_;
    g_pmi1_put_off_by = ::getpid();
    if (std::atexit(finalize_session_at_exit) != 0) return fail(OMPL_ERR_SYSTEM, "atexit: no room");
  }
  return OMPL_OK;
}

void Pmi1::abort(int exit_code, std::string_view why) {
  if (exit_code != 0) log::error("aborting the job: {}", why);
  std::this_thread::sleep_for(kLastWords);
  const std::string code = std::to_string(exit_code);
  const std::string request =
      exit_code != 0 ? line("abort", {{"exitcode", code}})
                     : line("abort", {{"exitcode", code}, {"orderly", "1"}});  // to omplrun
  if (connection_.send(request) == OMPL_OK) {
    connection_.wait_for_end(kAbortPatience);
  }
}

}  // namespace

bool pmi1_offered() { return any_set({"PMI_FD", "PMI_RANK", "PMI_SIZE"}); }

int pmi1_environment(Pmi1Session* out) {
  constexpr Protocol kPmi{"PMI", "omplrun or mpiexec"};
  constexpr uint32_t kMax = std::numeric_limits<int>::max();
  Pmi1Session session;
  uint32_t fd = 0;
  int result = read_number("PMI_FD", kPmi, kMax, &fd);
  if (result == OMPL_OK) result = read_number("PMI_SIZE", kPmi, kMax, &session.size);
  if (result == OMPL_OK) result = read_number("PMI_RANK", kPmi, kMax, &session.rank);
  if (result != OMPL_OK) return result;
  session.fd = static_cast<int>(fd);
  if (session.rank >= session.size) {
    return fail(OMPL_ERR_LAUNCH, "PMI_RANK={} is not below PMI_SIZE={}", session.rank, session.size);
  }
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(session.fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    if (is_refusal(errno)) return fail(OMPL_ERR_SYSTEM, "{}", call_text("getsockopt", errno));
    return fail(
        OMPL_ERR_LAUNCH,
        "PMI_FD={} is no open socket in this process; a program that a rank starts is no rank: start "
        "it with a launcher of its own, or set OMPL_LAUNCHER=single to run it alone",
        session.fd);
  }
  *out = session;
  return OMPL_OK;
}

int open_pmi1(const Pmi1Session& session, std::unique_ptr<Bootstrap>* out) {
  auto pmi1 = std::make_unique<Pmi1>(session);
  const int result = pmi1->open();
  if (result == OMPL_OK) *out = std::move(pmi1);
  return result;
}

}  // namespace ompl::bootstrap
