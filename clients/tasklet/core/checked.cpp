// SPDX-License-Identifier: BSD-3-Clause
// Checked mode: finds that nobody will ever signal what tasks wait for.
//
// Each rank publishes a word in its segment: whether all its workers are asleep, how many things have happened here (`activity`), and
// how often it has looked for arrivals since, without any (`beats`). Before it says that it sleeps it has completed all that it
// sent. A rank that sleeps reads the words of all ranks, and again later. If all slept both times, nothing has happened in between,
// and everybody has looked kBeats times since the first reading, then nothing was under way and nobody can send any more.
#include <chrono>
#include <cstdio>
#include <string>

#include "core/runtime.hpp"

namespace tasklet {
namespace {

constexpr uint64_t kBeats = 20;
constexpr auto kBeat = std::chrono::milliseconds(20);
constexpr int kBeatBits = 24, kActivityBits = 38;

uint64_t word_of(RankState state, uint64_t beats, uint64_t activity) {
  return static_cast<uint64_t>(state) << 62 | (beats & ((1ULL << kBeatBits) - 1)) << kActivityBits |
         (activity & ((1ULL << kActivityBits) - 1));
}
RankState state_of(uint64_t word) { return static_cast<RankState>(word >> 62); }
uint64_t beats_of(uint64_t word) { return word >> kActivityBits & ((1ULL << kBeatBits) - 1); }
uint64_t activity_of(uint64_t word) { return word & ((1ULL << kActivityBits) - 1); }

bool all_sleep(const std::vector<uint64_t>& words) {
  for (const uint64_t word : words)
    if (state_of(word) == RankState::running) return false;
  return true;
}

bool nothing_happened(const std::vector<uint64_t>& before, const std::vector<uint64_t>& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (state_of(now[i]) != state_of(before[i]) || activity_of(now[i]) != activity_of(before[i]))
      return false;
  }
  return true;
}

bool looked_long_enough(const std::vector<uint64_t>& before, const std::vector<uint64_t>& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (state_of(now[i]) == RankState::asleep && beats_of(now[i]) - beats_of(before[i]) < kBeats)
      return false;
  }
  return true;
}

// Asks all ranks for their words; true once all have answered.
bool read_words(Checker& c, uint32_t ranks) {
  if (!c.asked) {
    c.handles.assign(ranks, OMPL_HANDLE_INIT);
    c.posted = 0;
    c.asked = true;
  }
  for (; c.posted < ranks; ++c.posted) {
    const int code = ompl_atomic64_nb(OMPL_CTX_DEFAULT, c.posted, c.word, OMPL_ATOMIC_FETCH, 0, 0,
                                      &c.answers[c.posted], &c.handles[c.posted]);
    if (code != OMPL_OK && code != OMPL_PENDING) return false;
  }
  for (ompl_handle& handle : c.handles)
    if (ompl_handle_test(OMPL_CTX_DEFAULT, &handle) == 0) return false;
  c.asked = false;
  return true;
}

void say(Runtime& r) {
  std::string text(65536, '\0');
  text.resize(std::min(ompl_tasklet_report(text.data(), text.size()), text.size() - 1));
  std::fprintf(stderr,
               "ompl[%u] error: no task of any rank can go on; nobody will satisfy these waits:\n%s",
               r.rank, text.c_str());
}

// Ends the waits for tags of this rank.
void give_up(Runtime& r) {
  say(r);
  for (uint32_t tag = 0; tag < r.config.tags; ++tag) {
    for (uint32_t rank = 0; rank < r.size; ++rank) {
      for (const int32_t kind : {OMPL_TASKLET_PUT, OMPL_TASKLET_PUT_READY}) {
        if (!place_of(r, kind, rank, tag).used.load(std::memory_order_acquire)) continue;
        const ompl_signal signal = {tag_word(r, kind, rank, tag), kHopeless, OMPL_ADD32};
        ompl_ctx_signal(OMPL_CTX_DEFAULT, r.rank, &signal, OMPL_FOREVER);
      }
    }
  }
}

}  // namespace

void publish(Runtime& r, RankState state) {
  if (r.checker.word == 0) return;
  auto& word = *static_cast<std::atomic<uint64_t>*>(ompl_ptr(r.rank, r.checker.word));
  word.store(word_of(state, r.checker.beats, r.activity.load()), std::memory_order_seq_cst);
}

void look_for_deadlock(Runtime& r) {
  Checker& c = r.checker;
  const auto now = std::chrono::steady_clock::now();
  if (now - c.last_beat < kBeat) return;
  c.last_beat = now;
  const uint64_t activity = r.activity.load();
  if (activity != c.activity) {  // what was sent since is applied before this rank counts as asleep
    if (ompl_process_quiet() != OMPL_OK) return;
    c.activity = activity;
  }
  ++c.beats;
  publish(r, RankState::asleep);
  if (c.gave_up == activity || !read_words(c, r.size)) return;
  if (c.before.empty() || !all_sleep(c.answers) || !nothing_happened(c.before, c.answers)) {
    c.before = c.answers;
    return;
  }
  if (!looked_long_enough(c.before, c.answers)) return;
  c.before.clear();
  c.gave_up = activity;
  give_up(r);
}

}  // namespace tasklet
