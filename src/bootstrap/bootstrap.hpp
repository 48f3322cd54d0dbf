// SPDX-License-Identifier: BSD-3-Clause
// Starting up: who am I, how many are we, and a key-value store to exchange addresses. One
// implementation per launcher protocol: single, pmi1, pmix, mpi.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ompl {
struct Settings;
}

namespace ompl::bootstrap {

// How long a rank that asked for the end of the job waits to be ended.
inline constexpr std::chrono::seconds kAbortPatience{5};
// How long it lets the launcher pass on why before it asks: MPICH 5's ends ranks without reading what they have just
// written (2 of 100 jobs on two busy cores said nothing).
inline constexpr std::chrono::milliseconds kLastWords{200};

// Used by one thread, between ompl_init and ompl_finalize. Every call that waits is bounded by a time
// limit. All int results are OMPL_OK or a negative OMPL_ERR_* recorded by fail().
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  [[nodiscard]] virtual std::string_view name()
      const = 0;  // "single", "pmi1", "pmix", "mpi", "threads"
  [[nodiscard]] virtual uint32_t rank() const = 0;
  [[nodiscard]] virtual uint32_t size() const = 0;

  // Whether each rank is a process of its own. Not so in tests.
  [[nodiscard]] virtual bool of_processes() const { return true; }

  // The launcher's node number of every rank, or empty if it gives none (then ranks of equal host
  // identity are candidates for shared memory).
  [[nodiscard]] virtual std::vector<uint32_t> node_map() const = 0;

  // Publishes a value under this rank's key. Any bytes, any length: implementations encode and split.
  // A key is a word of at most 32 letters, digits, '-', '_' and '.', set once.
  virtual int set(std::string_view key, std::string_view value) = 0;
  // Returns when every rank's earlier set() can be read. Collective.
  virtual int fence() = 0;
  // Reads what `rank` published under `key` before the last fence.
  virtual int get(uint32_t rank, std::string_view key, std::string* value) = 0;

  // Ends the session with the launcher: this rank will exit properly. Called once, last.
  virtual int finish() = 0;
  // Asks the launcher to end the whole job, in order if `exit_code` is 0; does not return where the launcher obeys.
  virtual void abort(int exit_code, std::string_view why) = 0;
};

// Chooses by `settings.launcher` and the environment: an initialised MPI of this process first, then PMI-1
// (PMI_FD, PMI_RANK, PMI_SIZE), then PMIx (PMIX_NAMESPACE, PMIX_RANK, PMIX_SERVER_URI*), else a single rank.
// A half-set or contradictory environment, or a launcher that offers none of these, is OMPL_ERR_LAUNCH with
// one line that names the variable and what to do.
int connect(const Settings& settings, std::unique_ptr<Bootstrap>* out);

// A job of one rank, without any launcher.
std::unique_ptr<Bootstrap> open_single();

// A random word that the ranks of this job share and nobody else knows: drawn by rank 0 and passed on
// through the launcher's store. Collective, once.
int share_secret(Bootstrap& bootstrap, std::string* secret);

}  // namespace ompl::bootstrap
