// SPDX-License-Identifier: BSD-3-Clause
// The ranks of halo_faults.py: halo_fault_worker STRATEGY CALL END STEP. They exchange around a ring, completing each exchange by CALL
// (wait, test or some), until rank 0 ends by END (kill or exit) at the beginning of STEP, or in the middle of anything if it is `random`.
// Exit code 3: that was reported as documented, by every call; else there is a line on stderr.
#include <omnipgas/halo.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kPeerDied = 3;
constexpr int64_t kLimit_ns = 200'000'000'000;
constexpr std::size_t kLong = 10'000;  // elements: more than goes in one message
constexpr std::size_t kShort = 3;

uint32_t rank() { return static_cast<uint32_t>(ompl_rank()); }
uint32_t size() { return static_cast<uint32_t>(ompl_size()); }

int make(int32_t strategy, ompl_halo** halo) {
  const uint32_t left = (rank() + size() - 1) % size();
  const uint32_t right = (rank() + 1) % size();
  ompl_halo_neighbor neighbors[2]{};
  neighbors[0].rank = left;  // long ones one way, short ones the other
  neighbors[0].send_count = neighbors[1].receive_count = kShort;
  neighbors[1].rank = right;
  neighbors[1].send_count = neighbors[0].receive_count = kLong;
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  config.strategy = strategy;
  return ompl_halo_create(&config, neighbors, 2, halo);
}

int complete(ompl_halo* halo, const std::string& call) {
  if (call == "wait") return ompl_halo_wait(OMPL_CTX_DEFAULT, halo, kLimit_ns);
  if (call == "test") {
    int code = 0;
    while (code == 0) code = ompl_halo_test(OMPL_CTX_DEFAULT, halo);
    return code < 0 ? code : OMPL_OK;
  }
  std::size_t indices[2];
  std::size_t found = 1;
  int code = OMPL_OK;
  while (code == OMPL_OK && found > 0)
    code = ompl_halo_wait_some(OMPL_CTX_DEFAULT, halo, indices, &found, kLimit_ns);
  return code;
}

void end(const std::string& how) {
  if (how == "exit") std::exit(0);  // NOLINT(concurrency-mt-unsafe)
  ::kill(::getpid(), SIGKILL);
}

bool died(int code, const char* what) {
  if (code != OMPL_ERR_PEER)
    std::fprintf(stderr, "rank %u: %s: %s; %s\n", rank(), what, ompl_strerror(code),
                 ompl_error_detail());
  return code == OMPL_ERR_PEER;
}

// Exchanges until calls have said twice that a rank has died: who goes on after the first time may still get something through.
bool exchange(ompl_halo* halo, const std::string& call, const std::string& how, int last) {
  std::vector<double> vector(kLong);
  const void* vectors[] = {vector.data()};
  bool started = false;
  for (int step = 0, deaths = 0; deaths < 2;) {
    if (rank() == 0 && step == last) end(how);
    vector[0] = step;
    const int code =
        started ? complete(halo, call) : ompl_halo_start(OMPL_CTX_DEFAULT, halo, vectors, kLimit_ns);
    if (code != OMPL_OK) {
      if (!died(code, started ? call.c_str() : "start")) return false;
      ++deaths;
    } else {
      if (started && *static_cast<const double*>(ompl_halo_data(halo, 0, 0)) != step++)
        return died(OMPL_OK, "the data are wrong");
      started = !started;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(240);  // nothing may hang
  if (argc < 5) return 2;
  const std::string call = argv[2];
  const std::string how = argv[3];
  const std::string step = argv[4];
  ompl_halo* halo = nullptr;
  ompl_halo* another = nullptr;
  if (ompl_init() != OMPL_OK || make(std::atoi(argv[1]), &halo) != OMPL_OK) return 1;
  if (rank() == 0 && step == "random") {
    std::thread([&how] {
      ::usleep(std::random_device{}() % 50'000);
      end(how);
    }).detach();
  }
  const bool right = exchange(halo, call, how, step == "random" ? -1 : std::atoi(step.c_str())) &&
                     died(make(OMPL_HALO_SINGLE, &another), "ompl_halo_create") &&
                     died(ompl_halo_destroy(halo), "ompl_halo_destroy");
  if (right) std::printf("rank %u has learnt of it\n", rank());
  std::fflush(stdout);
  std::_Exit(right ? kPeerDied : 1);
}
