// SPDX-License-Identifier: BSD-3-Clause
#include "model/replay/replay.hpp"

#include <system_error>
#include <thread>
#include <tuple>

#include "model/replay/replayer_ends.hpp"

namespace ompl::model {

namespace {

// A replay of all ranks, a group of them by each thread.
template <class Clock>
class Replay {
 public:
  Replay(const Trace& trace, const Parameters& parameters, const Options& options,
         Timeline* timeline = nullptr)
      : trace_(trace),
        threads_(trace.threads()),
        lookahead_ns_(trace.threads() > trace.ranks() ? 0 : Costs<Clock>(parameters).lookahead_ns()),
        groups_(trace.ranks(), number_of_groups(options, timeline)) {
    if (trace.ranks() == 0) refuse("the trace has no ranks");
    // What a window causes is mail at its end; what that causes is in the window behind the next one.
    const double window_ns = lookahead_ns_ / (groups_.count() > 1 ? 2 : 1);
    for (uint32_t i = 0; i < groups_.count(); ++i)
      replayers_.push_back(std::make_unique<Replayer<Clock>>(trace, parameters, options, window_ns,
                                                             timeline, threads_, groups_.group(i),
                                                             groups_, stretches_));
  }

  void run() {
    {
      std::vector<std::jthread> others;
      try {
        for (uint32_t i = 1; i < groups_.count(); ++i) others.emplace_back([this, i] { run(i); });
      } catch (const std::system_error&) {
        const auto error = std::make_exception_ptr(InputError(
            fmt::format("{} threads cannot be started: ask for fewer by --threads", groups_.count())));
        for (auto i = static_cast<uint32_t>(others.size()) + 1; i < groups_.count(); ++i)
          groups_.leave(i, error);
      }
      run(0);
    }
    if (const std::exception_ptr error = groups_.error()) std::rethrow_exception(error);
  }

  [[nodiscard]] Result result() const {
    Result out;
    out.threads = groups_.count();
    out.predicted_ns = ns(last().now);
    out.per_rank.resize(trace_.ranks());
    for (const Thread<Clock>& thread : threads_) {
      out.per_thread.push_back(thread.times);
      out.per_rank[thread.caller.rank] += thread.times;
    }
    SiteTimes sites(trace_.sites());
    for (const auto& one : replayers_) {
      one->add_to(out);
      sites.add(one->sites());
    }
    out.per_site = sites.times();
    name_unmatched(out);
    return out;
  }

  [[nodiscard]] Sensitivity sensitivity() const {
    return CriticalPath::sensitivity(last().now, stretches_,
                                     [this](uint32_t rank) -> const CriticalPath& {
                                       return replayers_[groups_.group_of(rank)]->path();
                                     });
  }

 private:
  // Several need a bound of how soon what happens at a rank matters to another one, and nothing that is written in the
  // order of the replay. Of an eager buffer a sender has to know at once that it has room.
  uint32_t number_of_groups(const Options& options, const Timeline* timeline) const {
    if (lookahead_ns_ == 0 || options.eager_buffer > 0 || timeline != nullptr) return 1;
    return std::clamp(options.threads, 1U, std::max(1U, trace_.ranks()));
  }

  void run(uint32_t number) {
    Replayer<Clock>& replayer = *replayers_[number];
    uint64_t window = groups_.count() == 1 ? Agenda::kNever : 0;
    bool begun = false;
    do {
      uint64_t earliest = Agenda::kNever;
      try {
        if (!std::exchange(begun, true)) replayer.begin();
        earliest = replayer.advance(window);
      } catch (...) {
        groups_.fail(number, std::current_exception());
      }
      window = groups_.meet(number, earliest);
    } while (window != Agenda::kNever);
  }

  [[nodiscard]] const Thread<Clock>& last() const {
    return *std::ranges::max_element(threads_, {},
                                     [](const Thread<Clock>& thread) { return ns(thread.now); });
  }

  // In an order that does not depend on that of the replay.
  static void name_unmatched(Result& all) {
    std::vector<Unmatched>& found = all.unmatched;
    all.unmatched_count = found.size();
    const std::size_t named = std::min(found.size(), Result::kMostNamed);
    std::ranges::partial_sort(
        found, found.begin() + static_cast<std::ptrdiff_t>(named), {}, [](const Unmatched& one) {
          return std::tuple{one.thread, one.is_send, one.site, one.peer, one.tag, one.bytes};
        });
    found.resize(named);
  }

  const Trace& trace_;
  std::vector<Thread<Clock>> threads_;
  double lookahead_ns_;
  std::atomic<std::size_t> stretches_ = 0;
  Groups<Clock> groups_;
  std::vector<std::unique_ptr<Replayer<Clock>>> replayers_;
};

}  // namespace

Result replay(const Trace& trace, const Parameters& parameters, const Options& options,
              Timeline* timeline) {
  Replay<double> replay(trace, parameters, options, timeline);
  replay.run();
  return replay.result();
}

Sensitivity trace_critical_path(const Trace& trace, const Parameters& parameters,
                                const Options& options) {
  Replay<Traced> replay(trace, parameters, options);
  replay.run();
  return replay.sensitivity();
}

}  // namespace ompl::model
