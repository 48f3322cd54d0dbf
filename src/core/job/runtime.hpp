// SPDX-License-Identifier: BSD-3-Clause
// One rank of a job: its segment, its peers, its contexts. The C API holds one; tests hold several in one
// process. Nothing here is global.
//
// Thread rules: operations by any thread, each with a context that no other thread uses meanwhile;
// barrier, alloc, free and finalize are collective, by one thread of every rank in the same order.
// Results are OMPL_OK or OMPL_ERR_*, as ompl.h documents them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/copy.hpp"
#include "bootstrap/bootstrap.hpp"
#include "conduit/conduit.hpp"
#include "conduit/registry.hpp"
#include "core/data/callbacks.hpp"
#include "core/data/handle.hpp"
#include "core/data/update.hpp"
#include "core/job/context.hpp"
#include "core/job/extension.hpp"
#include "core/memory/allocation.hpp"
#include "core/memory/segment.hpp"
#include "core/memory/segment_header.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/wait/deadline.hpp"
#include "util/settings.hpp"

namespace ompl {

struct Network;

// What a rank tells the others of its conduits.
struct Card {
  Pool pool;
  std::vector<std::pair<std::string, std::string>>
      addresses;  // by names of conduits, in order of preference

  // Null, or nothing if that conduit is not open there.
  [[nodiscard]] const std::string* find(std::string_view conduit) const;
};

// What this rank knows of another one.
struct Peer {
  std::string conduit;  // how it is reached
  std::string why;      // why so: the answers of all conduits asked
  int death_fd = -1;    // see conduit::Reach
  int segment_fd = -1;
  int wake_fd = -1;
  std::atomic<int> failure{0};        // OMPL_ERR_PEER: dead; OMPL_ERR_LINK: out of reach
  std::atomic<bool> torn{false};      // it, or somebody who tried, says that it has lost a connection
  int said = 0;                       // the same, of the last line in the log
  std::atomic<bool> departed{false};  // it has come to ompl_finalize: its end is not its death
};

class Runtime {
 public:
  // Joins the job. `conduits` are asked in order, those that settings.conduits names first to last.
  // The bootstrap is kept until finalize(). Collective.
  static int create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::span<const conduit::Entry> conduits, std::unique_ptr<Runtime>* out);
  // As create(), with conduit objects made by the caller (tests: one with its own arguments).
  static int create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::vector<std::unique_ptr<conduit::Conduit>> conduits,
                    std::unique_ptr<Runtime>* out);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Leaves the job; every context becomes unusable (its ranks are 0). Collective.
  int finalize(Context& context);

  [[nodiscard]] uint32_t rank() const { return rank_; }
  [[nodiscard]] uint32_t size() const { return size_; }
  // The lowest rank that shares memory with this one.
  [[nodiscard]] uint32_t first_of_node() const { return node_ranks_.front(); }
  [[nodiscard]] uint32_t node_rank() const { return node_rank_; }
  [[nodiscard]] uint32_t node_size() const { return static_cast<uint32_t>(node_ranks_.size()); }
  // The processors that this process might use when it joined: bit i of word i / 64.
  [[nodiscard]] std::span<const uint64_t> processors() const { return segment_.header().cores; }
  // The processes of the node that might use some of these, and how many of them come before this one.
  struct Sharing {
    uint32_t place = 0;
    uint32_t processes = 1;
  };
  [[nodiscard]] Sharing sharing() const;
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const Peer& peer(uint32_t rank) const { return peers_[rank]; }
  [[nodiscard]] bootstrap::Bootstrap& bootstrap() { return *bootstrap_; }

  // Contexts. close_context() completes the context's operations first.
  // `windows`: of the thread whose implicit context it is.
  Context* open_context(ompl_windows* windows = nullptr);
  int close_context(Context* context);
  // For the end of a thread: nothing may block, so what is outstanding is left to the slots.
  void abandon_context(Context* context);

  // For ompl_finalize() of a thread without a context: it is made when the job is joined, so that leaving needs no memory for it.
  [[nodiscard]] Context& last_context() { return *last_context_; }

  // In the child of a fork: every context and window becomes unusable, nothing else is touched.
  void disown();

  // The fast paths. The put, get and signal of ompl_inline.h call this when somebody of the rank sleeps;
  void wake_sleepers(uint32_t rank, uint64_t flag) { wake_sleepers(rank, bases_[rank], flag); }
  // this one looks at the flag for some microseconds, if nothing else has to be done meanwhile;
  // false: take the slow path, which checks everything and blocks.
  static bool await_mapped(Context& c, uint64_t flag);

  // The slow path.
  int put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline = Deadline::never());
  int get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline = Deadline::never());
  // A record is an update: `signal` sends it; `atomic` also fetches the value before, unless null.
  int signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline = Deadline::never());
  int atomic(Context& c, uint32_t rank, const Signal& record, uint64_t* before,
             Deadline deadline = Deadline::never());
  int put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 const Signal& record, Deadline deadline = Deadline::never());
  int wait(Context& c, uint64_t flag, Deadline deadline = Deadline::never());
  int poll(Context& c, uint64_t flag);
  int flush(Context& c, Deadline deadline = Deadline::never());
  int quiet(Context& c, Deadline deadline = Deadline::never());

  // Nonblocking: OMPL_OK, OMPL_PENDING or OMPL_RETRY_*; `handle` may be null but for updates (nonblocking.cpp).
  int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
             const Signal* record, bool local, Handle* handle);
  int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
             Handle* handle);
  int signal_nb(Context& c, uint32_t rank, const Signal& record);
  int atomic_nb(Context& c, uint32_t rank, const Signal& record, void* before, Handle* handle);
  int test(Context& c, Handle& handle);  // 1: complete, 0: not, or an error; without progress,
  int progress_and_test(Context& c, Handle& handle);  // and with
  int await(Context& c, Handle& handle, Deadline deadline);
  int await_some(Context& c, std::span<ompl_handle> handles, std::size_t* indices, std::size_t most,
                 std::size_t* found, Deadline deadline);
  int await_all(Context& c, std::span<ompl_handle> handles, Deadline deadline);

  // Conditions on own flags (conditions.cpp). `most`: 1 for any, else the number of conditions.
  using Conditions = std::span<const ompl_condition>;
  int wait_until(Context& c, const ompl_condition& condition, Deadline deadline);
  int wait_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
                std::size_t* found, Deadline deadline);
  int wait_all(Context& c, Conditions conditions, Deadline deadline);

  // Strided and indexed data (shapes.cpp).
  int put_strided(Context& c, const void* source, uint32_t rank, uint64_t offset,
                  const ompl_strided& block, const Signal* record, Deadline deadline);
  int get_strided(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                  Deadline deadline);
  int put_indexed(Context& c, const void* source, uint32_t rank, uint64_t offset,
                  const ompl_indexed& list, const Signal* record, Deadline deadline);
  int get_indexed(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                  Deadline deadline);

  // Memory of the program (regions.cpp).
  int register_memory(const void* address, std::size_t length);
  int unregister_memory(const void* address);

  // Progress with callbacks, and what they are for (callbacks.cpp).
  int progress(Context& c, Deadline deadline);
  int call_back(Handle& handle, ompl_callback_fn callback, void* argument);
  int call_back(Context& c, Watch& watch, const ompl_condition& condition, ompl_callback_fn callback,
                void* argument);

  int barrier(Context& c, Deadline deadline = Deadline::never());
  int alloc(Context& c, std::size_t size, uint64_t* offset);
  int free(Context& c, uint64_t offset);
  [[nodiscard]] void* pointer(uint32_t rank, uint64_t offset) const;

  // The yield hook (ompl.h); nullptr restores sched_yield().
  using YieldHook = int (*)(void*);
  void set_yield(YieldHook hook, void* argument);
  // How to find the calling thread's implicit context again after the hook, which may have moved the task to
  // another thread.
  void set_implicit_lookup(Context* (*lookup)()) { implicit_lookup_ = lookup; }

  // What is built on this runtime and ends with it: at most one, kept from extend() on. Others may wait meanwhile.
  void extend(std::unique_ptr<Extension> extension) {
    known_extension_.store(extension.get(), std::memory_order_release);
    extension_ = std::move(extension);
  }
  [[nodiscard]] Extension* extension() const {
    return known_extension_.load(std::memory_order_acquire);
  }

  // For those who wait by other means than the functions above: drives communication once; looks for dead ranks, now and
  // then; wakes who waits for several flags or for completions.
  void drive(Context& c);
  void look_for_deaths();
  // Declares failed those of `count` ranks from `first` on to whom a connection is broken: a call may have reported it before any look.
  void look_for_broken(uint32_t first, uint32_t count);
  void wake_own_completions();
  // Everything that any context of this rank has sent is applied or visible.
  int quiet_all(Context& c);
  // Whether [address, address + length) lies in an allocation of the own segment, and where.
  bool offset_of(const void* address, std::size_t length, uint64_t* offset) const;

  // Failures of ranks known; after acknowledge_failures(), which counts the ranks, waits block again until a
  // further one.
  [[nodiscard]] uint32_t failures() const { return failures_.load(std::memory_order_acquire); }
  // Grows with each of them, and with each rank that is said to have lost a connection.
  [[nodiscard]] uint32_t failure_events() const {
    return failure_events_.load(std::memory_order_acquire);
  }
  uint32_t acknowledge_failures();
  // Ranks known to be dead or out of reach, ascending.
  [[nodiscard]] std::vector<uint32_t> failed_ranks() const;

  // What every blocked thread waits for, and the state of the endpoints: one line each. Any thread.
  [[nodiscard]] std::string hang_report() const;
  // Asks the next thread that blocks in the library to print the report. Async-signal-safe.
  void request_report() { report_requested_.store(true, std::memory_order_relaxed); }
  // True if some thread is blocked in the library now. Async-signal-safe.
  [[nodiscard]] bool anyone_blocked() const;

 private:
  friend class EndpointPool;
  friend class Sender;
  friend class Blocker;
  friend class PeerChannel;
  friend class Caller;
  Runtime(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap);

  // Start and end (start.cpp).
  using Conduits = std::vector<std::unique_ptr<conduit::Conduit>>;
  int start(Conduits conduits);
  int prepare();
  void agree_on_mappings();
  // Those that cannot be opened here leave `conduits`, with the reasons in *refused.
  int open_conduits(Conduits& conduits, std::string_view key, std::vector<Card>* cards,
                    std::string* refused);
  int exchange(std::string_view key, const std::string& own, std::vector<std::string>* all);
  int start_direct(Conduits conduits);
  void limit_pool(const conduit::Conduit& network);
  int start_network(Conduits networks);
  int agree(std::string* verdict, std::size_t* chosen);
  [[nodiscard]] unsigned own_cores() const;
  void count_cores();
  void part(Context& context);
  void leave_word(Context& context);
  void leave();

  // Checks of user input; what passes is remembered in the context (operations.cpp). A flag is a word
  // of `width` bytes.
  static bool knows_flag(const Context& c, uint64_t flag, std::size_t width = sizeof(uint32_t)) {
    return flag % width == 0 &&
           c.flag.covers(flag, width, c.generation->load(std::memory_order_relaxed));
  }
  int check_data(Context& c, uint32_t rank, uint64_t offset, std::size_t length, const char* what);
  int check_flag(Context& c, uint32_t rank, uint64_t flag, const char* what,
                 std::size_t width = sizeof(uint32_t));
  int check_record(Context& c, uint32_t rank, const Signal* record, const char* what);
  int check_condition(Context& c, const ompl_condition& condition, const char* what);
  int check_conditions(Context& c, Conditions conditions, const char* what);
  int check_update(Context& c, uint32_t rank, const Signal& record, const void* before,
                   const char* what);
  int check_local(Context& c, const void* address, const char* what);
  int check_transfer(Context& c, const void* local, uint32_t rank, uint64_t offset, std::size_t length,
                     const Signal* record, const char* what);

  static void count_put(Context& c, std::size_t length, const Signal* record);
  static void count_get(Context& c, std::size_t length);
  static void open_data_window(Context& c, uint32_t rank);
  static void open_flag_window(Context& c, uint32_t rank);
  static void put_mapped(Context& c, std::byte* base, const void* source, uint32_t rank,
                         uint64_t offset, std::size_t length);
  static void get_mapped(Context& c, const std::byte* base, void* target, uint32_t rank,
                         uint64_t offset, std::size_t length);

  int signal_any(Context& c, uint32_t rank, const Signal& record, Deadline deadline);
  int wait_flag(Context& c, uint64_t flag, Call call, uint32_t peer, Deadline deadline);

  // Whether a condition holds; try_consume() also takes. settle(): whether an entry of the callbacks is over.
  bool holds(const ompl_condition& condition) const;
  bool try_consume(const ompl_condition& condition);
  bool meet_all(Conditions conditions);
  template <class Shape, class Given>
  int move(Context& c, Call call, std::byte* local, uint32_t rank, uint64_t offset, const Given& given,
           const Signal* record, Deadline deadline, const char* what);
  bool settle(Context& c, Pending& entry);
  // await() but for the order of earlier stores and later loads.
  int await_unordered(Context& c, Handle& handle, Deadline deadline);

  // Flags (flags.cpp). raise() applies a signal to a mapped rank and wakes its waiters [15].
  uint64_t raise(uint32_t rank, std::byte* base, const Signal& record);
  bool apply(const Signal& record, Extent& last, uint64_t* before);
  void wake_if_asleep(uint32_t rank, std::byte* base, uint64_t flag);
  void wake_sleepers(uint32_t rank, std::byte* base, uint64_t flag);
  void wake(uint32_t rank, SegmentHeader& header, Bucket& bucket);
  void poke_sentinel(uint32_t rank);

  // Counts the threads that load this node's cores; called by a context that begins to block (block.cpp).
  void note_load(Context& context, int64_t now_ns);

  // Failure (failure.cpp). OMPL_OK, or why collectives of all ranks can never end any more.
  [[nodiscard]] int world_failure() const {
    return deaths_are_ignored() ? static_cast<int>(OMPL_OK) : world_.load();
  }
  int report_world_failure();
  // News of failures (rule 23): what a record says, what ranks of the node have written, and telling others.
  void hear(const Signal& news);
  void look_at_news();
  void spread(bool dead, uint32_t rank);
  void learn(bool dead, uint32_t rank);
  void declare_failed(uint32_t rank, int code, std::string_view how);
  void say_failed(uint32_t rank, int code, std::string_view how);
  [[nodiscard]] bool deaths_are_ignored() const { return settings_.on_peer_death == "ignore"; }
  [[nodiscard]] bool hopeless() const;
  int report_failure();

  // Collective parts (collective.cpp): memory for an allocation; the rest of the barrier under way.
  int commit(uint64_t begin, std::size_t size);
  void revoke(uint64_t begin, std::size_t size, std::size_t count);
  enum class Collective : uint64_t { alloc = 1, free, finalize };
  struct Agreement {
    bool alike = true;             // all ranks make the same call with the same argument
    uint32_t short_of_memory = 0;  // ranks
  };
  int agree(Context& c, Collective kind, uint64_t argument, bool short_of_memory, Agreement* out);
  int await_call(Context& c, uint64_t* call);
  int run_barrier(Context& c, Deadline deadline);

  Settings settings_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  uint32_t rank_ = 0;
  uint32_t size_ = 1;
  uint32_t node_rank_ = 0;
  std::vector<uint32_t> node_ranks_;  // that share memory with this one, ascending
  unsigned node_cores_ = 1;           // cores those ranks may use together

  Segment segment_;
  AllocationTable allocations_;
  OffsetAllocator allocator_;
  conduit::Job job_;
  std::vector<std::unique_ptr<conduit::Conduit>> conduits_;  // usable ones, in order of preference
  std::vector<std::byte*> bases_;
  std::unique_ptr<Peer[]> peers_;
  std::vector<Pool> pools_;           // by rank
  std::unique_ptr<Network> network_;  // if some rank is not mapped
  int wake_pipe_[2] = {-1, -1};

  [[nodiscard]] std::unique_ptr<Context> make_context();
  void count_load(Context* context);
  void uncount_idle(int64_t now_ns);
  void close_windows();
  void shut_windows();
  void look_for_gpus();

  std::unique_ptr<Extension> extension_;
  std::atomic<Extension*> known_extension_{nullptr};
  Callbacks callbacks_;
  std::mutex regions_mutex_;
  std::map<uintptr_t, std::size_t> regions_;  // registered: address and length

  std::mutex contexts_mutex_;      // opening, closing, and closing windows
  std::atomic<bool> gpus_{false};  // a GPU's driver is in this process: addresses may be its
  std::atomic<Context*> contexts_{nullptr};
  Context* closed_contexts_ = nullptr;  // of them; under the mutex
  uint32_t contexts_made_ = 0;          // the same
  std::atomic<Context*> counted_contexts_{
      nullptr};                            // those that load this node's cores, or did a moment ago
  std::unique_ptr<Context> last_context_;  // stands in no list

  YieldHook yield_hook_ = nullptr;
  void* yield_argument_ = nullptr;
  Context* (*implicit_lookup_)() = nullptr;

  std::mutex declaring_;
  std::mutex saying_;
  std::atomic<uint32_t> failures_{0};
  std::atomic<uint32_t> failure_events_{0};
  std::atomic<int> world_{OMPL_OK};
  std::atomic<uint32_t> news_seen_{0};
  std::atomic<uint32_t> acknowledged_{0};
  std::atomic<int64_t> deaths_looked_ns_{0};
  std::atomic<uint32_t> looked_from_{0};  // the rank at which the next look at the network begins
  std::atomic<int64_t> load_counted_ns_{0};
  std::atomic<bool> counting_load_{false};
  std::atomic<bool> crowded_{false};  // more threads use the layer on this node than it has cores
  std::atomic<bool> report_requested_{false};

  uint64_t agreements_ = 0;
  uint32_t barrier_round_ = 0;  // of the barrier under way: one that timed out is gone on with
  bool barrier_signalled_ = false;
  bool barrier_open_ = false;
};

// ------------------------------------------------------------------------------------------------

inline Context& Caller::now() {
  if (is_implicit_ && context_->runtime->implicit_lookup_ != nullptr) {
    if (Context* const found = context_->runtime->implicit_lookup_(); found != nullptr)
      context_ = found;
  }
  return *context_;
}

// The producer's side of protocol rule 15: the add and the looks are sequentially consistent. The first look is
// at the number of all the rank's sleepers; only if there are any, at the flag's bucket.
inline uint64_t Runtime::raise(uint32_t rank, std::byte* base, const Signal& record) {
  const uint64_t before = update(base + record.offset, record);
  if (record.function != Function::fetch) wake_if_asleep(rank, base, record.offset);
  return before;
}

inline void Runtime::wake_if_asleep(uint32_t rank, std::byte* base, uint64_t flag) {
  if (header_of(base).sleepers.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    wake_sleepers(rank, base, flag);
}

// Takes one from a positive flag. An acquire when it succeeds.
template <class Word>
inline bool take(std::byte* word) {
  const std::atomic_ref<Word> flag(*reinterpret_cast<Word*>(word));
  Word count = flag.load(std::memory_order_seq_cst);
  while (count != 0) {
    if (flag.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) return true;
  }
  return false;
}

inline bool Runtime::await_mapped(Context& c, uint64_t flag) {
  if (!c.direct.load(std::memory_order_relaxed) || !knows_flag(c, flag)) return false;
  std::byte* word = c.bases[c.rank] + flag;
  if (take<uint32_t>(word)) return true;
  if (c.turn == 0) return false;
  --c.turn;
  for (int left = c.eager_spins; left > 0; --left) {
    arch::pause();
    if (take<uint32_t>(word)) return true;
  }
  if (c.eager_spins > 0) c.eager_spins = Context::kSpunInVain;
  return false;
}

}  // namespace ompl
