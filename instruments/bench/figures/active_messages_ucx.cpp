// SPDX-License-Identifier: BSD-3-Clause
// Active messages of UCX per second, of so many threads to another process that takes each as it comes: `active_messages_ucx
// THREADS`. A line of JSON a round, as those of runtimes.cpp. Each thread has a worker of its own; the target has one.
#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 11;
constexpr int kMessages = 40'000;
constexpr unsigned kId = 1;
constexpr int kOutstanding = 64;
constexpr unsigned kLimit_s = 120;  // of the whole program

void must(ucs_status_t status) {
  if (status == UCS_OK) return;
  std::fprintf(stderr, "UCX: %s\n", ucs_status_string(status));
  std::exit(1);
}

void whole(ssize_t moved, std::size_t wanted) {
  if (moved != static_cast<ssize_t>(wanted)) std::exit(1);
}

ucp_context_h make_context(bool threads) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_AM;
  params.mt_workers_shared = threads ? 1 : 0;
  ucp_context_h context = nullptr;
  must(ucp_init(&params, nullptr, &context));
  return context;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  must(ucp_worker_create(context, &params, &worker));
  return worker;
}

ucs_status_t count(void* counter, const void* /*header*/, size_t /*header_length*/, void* /*data*/,
                   size_t /*length*/, const ucp_am_recv_param_t* /*param*/) {
  ++*static_cast<int*>(counter);
  return UCS_OK;
}

// Tells its address, then takes each round's messages and says so.
int serve(int out, int messages) {
  ucp_worker_h worker = make_worker(make_context(false));
  int seen = 0;
  ucp_am_handler_param_t handler{};
  handler.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kId;
  handler.cb = count;
  handler.arg = &seen;
  must(ucp_worker_set_am_recv_handler(worker, &handler));
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  must(ucp_worker_get_address(worker, &address, &length));
  whole(::write(out, &length, sizeof length), sizeof length);
  whole(::write(out, address, length), length);
  for (int round = 0; round <= kRounds; ++round) {
    while (seen < messages) ucp_worker_progress(worker);
    seen -= messages;
    whole(::write(out, &round, sizeof round), sizeof round);
  }
  for (int i = 0; i < 1000; ++i) ucp_worker_progress(worker);
  return 0;
}

class Sender {
 public:
  Sender(ucp_context_h context, const std::vector<char>& address) : worker_(make_worker(context)) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    must(ucp_ep_create(worker_, &params, &endpoint_));
  }

  void send(int messages) {
    const uint64_t value = 7;
    ucp_request_param_t param{};
    std::array<void*, kOutstanding> requests{};
    for (int i = 0; i < messages; ++i) {
      void*& request = requests[static_cast<std::size_t>(i) % kOutstanding];
      finish(request);
      request = ucp_am_send_nbx(endpoint_, kId, &value, sizeof value, nullptr, 0, &param);
    }
    for (void*& request : requests) finish(request);
    void* flush = ucp_ep_flush_nbx(endpoint_, &param);
    finish(flush);
  }

 private:
  void finish(void*& request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request));
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
    request = nullptr;
  }

  ucp_worker_h worker_;
  ucp_ep_h endpoint_ = nullptr;
};

double seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void measure(int in, int threads) {
  std::size_t length = 0;
  whole(::read(in, &length, sizeof length), sizeof length);
  std::vector<char> address(length);
  whole(::read(in, address.data(), length), length);
  ucp_context_h context = make_context(true);
  double begin = 0;
  std::barrier start(threads, [&]() noexcept { begin = seconds(); });
  std::barrier end(threads, [&]() noexcept {
    int round = 0;
    whole(::read(in, &round, sizeof round), sizeof round);
    const int sent = kMessages / threads * threads;
    const double rate = sent / (seconds() - begin);
    if (round > 0) fmt::print("{{\"op\": \"rate\", \"ompl\": 0, \"twin\": {:.3f}}}\n", rate);
  });
  std::vector<std::jthread> pool(static_cast<std::size_t>(threads));
  for (std::jthread& thread : pool) {
    thread = std::jthread([&] {
      Sender sender(context, address);
      for (int round = 0; round <= kRounds; ++round) {
        start.arrive_and_wait();
        sender.send(kMessages / threads);
        end.arrive_and_wait();
      }
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::array<int, 2> pipe{};
  if (threads < 1 || ::pipe(pipe.data()) != 0) return 2;
  const pid_t child = ::fork();
  if (child < 0) return 1;
  ::alarm(kLimit_s);
  if (child == 0) std::_Exit(serve(pipe[1], kMessages / threads * threads));
  ::close(pipe[1]);
  measure(pipe[0], threads);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::fflush(nullptr);
  std::_Exit(status == 0 ? 0 : 1);
}
