// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/psm2/connector.hpp"

#include <pthread.h>

#include <csignal>
#include <system_error>

#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {
constexpr int64_t kAttemptNs = 2'000'000'000;  // PSM2 takes no less
}

// The program's signals are for its own threads.
bool Connector::begin(PsmEndpoint* endpoint, PsmEpid number) {
  join();
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  note_signal_actions();
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  away_.store(true, std::memory_order_relaxed);
  try {
    thread_ = std::thread([this, endpoint, number] { run(endpoint, number); });
  } catch (const std::system_error&) {
    away_.store(false, std::memory_order_relaxed);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void Connector::run(PsmEndpoint* endpoint, PsmEpid number) {
  PsmError of_one = kPsmOk;
  address_ = nullptr;
  error_ = library_.ep_connect(endpoint, 1, &number, nullptr, &of_one, &address_, kAttemptNs);
  why_ = error_ == kPsmOk ? std::string() : in_words([this] { return library_.text_of(error_); });
  restore_signal_actions();
  away_.store(false, std::memory_order_release);
}

PsmError Connector::take_result(PsmAddress** address, std::string* why) {
  join();
  if (error_ == kPsmOk) *address = address_;
  *why = std::move(why_);
  return error_;
}

}  // namespace ompl::conduit::psm2
