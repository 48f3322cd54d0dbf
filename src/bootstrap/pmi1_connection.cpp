// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/pmi1_connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "arch/system_call.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap::pmi1 {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

int Pmi1Connection::send(const std::string& line) const {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      return fail(OMPL_ERR_LAUNCH, "cannot write to the launcher (PMI_FD={}): {}", fd_,
                  call_text("sendto", errno));
    }
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return OMPL_OK;
}

int Pmi1Connection::receive(std::chrono::milliseconds limit, std::string* line) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (auto next = buffer_.next()) {
      *line = std::move(*next);
      return OMPL_OK;
    }
    const int ready = arch::await_readable(fd_, deadline);
    if (ready == 0) {
      return fail(OMPL_ERR_LAUNCH,
                  "the launcher (PMI_FD={}) gave no answer for {} ms; has another rank hung before its "
                  "ompl_init?",
                  fd_, limit.count());
    }
    std::array<char, 4096> bytes;
    const ssize_t count = ready < 0 ? -1 : recv(fd_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return fail(OMPL_ERR_LAUNCH, "cannot read from the launcher (PMI_FD={}): {}", fd_,
                  call_text(ready < 0 ? "poll" : "recvfrom", errno));
    }
    if (count == 0) return fail(OMPL_ERR_LAUNCH, "the launcher closed the connection (PMI_FD={})", fd_);
    if (!buffer_.append({bytes.data(), static_cast<std::size_t>(count)})) {
      return fail(OMPL_ERR_LAUNCH, "the launcher (PMI_FD={}) sent a line of more than {} bytes", fd_,
                  kMaxLine);
    }
  }
}

int Pmi1Connection::request(const std::string& line, std::string_view expected, Pmi1Message* answer) {
  int result = send(line);
  std::string text;
  if (result == OMPL_OK) result = receive(limit_, &text);
  if (result != OMPL_OK) return result;
  auto message = Pmi1Message::parse(text);
  if (!message || message->command() != expected) {
    return fail(OMPL_ERR_LAUNCH, "the launcher (PMI_FD={}) answered \"{}\" where PMI-1 has cmd={}", fd_,
                text, expected);
  }
  *answer = std::move(*message);
  return OMPL_OK;
}

void Pmi1Connection::wait_for_end(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::array<char, 256> ignored;
  while (arch::await_readable(fd_, deadline) > 0) {
    if (arch::uninterrupted([&] { return recv(fd_, ignored.data(), ignored.size(), 0); }) <= 0) return;
  }
}

}  // namespace ompl::bootstrap::pmi1
