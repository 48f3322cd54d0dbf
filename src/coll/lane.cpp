// SPDX-License-Identifier: BSD-3-Clause
#include "coll/lane.hpp"

#include <algorithm>
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "coll/engine.hpp"
#include "coll/team.hpp"
#include "coll/tuner/explanation.hpp"
#include "util/status.hpp"

namespace ompl::coll {
namespace {

constexpr int kTurns = 64;                       // of a request before a claim ends
constexpr int kBurst = Layout::kCells / 2;       // cells of a step in a turn: both directions stay busy
constexpr std::size_t kMappedPiece = 256 << 10;  // bytes of a straight message that a turn copies
constexpr std::size_t kPiece = std::size_t{1} << 30;
constexpr Operation kPromises{.element = sizeof(Promise)};  // they are not cut

void push(std::atomic<Request*>& list, Request* request) {
  request->next = list.load(std::memory_order_relaxed);
  while (!list.compare_exchange_weak(request->next, request)) {
  }
}

}  // namespace

Lane::Lane(Team& team, std::vector<Channel> channels) : team_(team), channels_(std::move(channels)) {}

Lane::~Lane() = default;

Request* Lane::fresh() {
  if (free_ == nullptr) free_ = returned_.exchange(nullptr);
  if (free_ == nullptr) free_ = requests_.emplace_back(std::make_unique<Request>()).get();
  Request* const request = free_;
  free_ = request->next;
  request->lane = this;
  return request;
}

void Lane::recycle(Request* request) { push(returned_, request); }

std::shared_ptr<const Prepared> Lane::prepare(const Call& call) {
  const auto found = std::ranges::find(compiled_, call, &Compiled::call);
  if (found != compiled_.end()) {
    std::rotate(compiled_.begin(), found, found + 1);
    return compiled_.front().prepared;
  }
  const auto prepared = std::make_shared<Prepared>();
  prepared->tuning = tuning_of(call);
  for (const int32_t algorithm :
       prepared->tuning != nullptr ? prepared->tuning->algorithms() : std::vector{call.algorithm}) {
    Call one = call;
    one.algorithm = algorithm;
    std::shared_ptr<const Schedule> schedule = compile(one);
    if (schedule == nullptr) return nullptr;
    prepared->add(std::move(schedule));
  }
  if (prepared->tuning != nullptr) {
    prepared->exchange =
        compile(exchange_of_times(call, prepared->tuning->tuner().most_runs(), team_.layout().room()));
    prepared->make_room(*prepared->exchange);
  }
  if (compiled_.size() == kCompiled) compiled_.pop_back();
  compiled_.insert(compiled_.begin(), {call, prepared});
  return prepared;
}

// Null: there is nothing to tune. All members come to the same.
Tuning* Lane::tuning_of(const Call& call) {
  const Engine& engine = team_.engine();
  const bool open = call.algorithm == OMPL_COLL_AUTO && !call.listed && call.size > 1;
  if (!engine.tunes() || !open) return nullptr;
  const Kind kind = kind_of(call);
  if (const auto found = tunings_.find(kind); found != tunings_.end()) return found->second.get();
  std::vector<int32_t> algorithms = short_list(kind, {});
  if (algorithms.size() < 2) return nullptr;
  const std::vector<double> known = engine.known().known(kind, algorithms);
  auto tuning = std::make_unique<Tuning>(kind, std::move(algorithms), known);
  if (explains()) log::write(log::Level::info, explain_beginning(*tuning, {}));
  return (tunings_[kind] = std::move(tuning)).get();
}

// One member does so for all.
bool Lane::explains() const { return team_.me() == 0 && team_.engine().explains(); }

void Lane::tell(Table* table) const {
  if (busy()) return;
  for (const auto& [kind, tuning] : tunings_) tuning->tell(table);
}

void Lane::start(Request* request) {
  request->stage = Request::Stage::waiting;
  request->failure = OMPL_OK;
  if (request->exchange != nullptr) {
    request->promises.resize(team_.size());
    request->promises[team_.me()] = request->promise;
  }
  for (const Prepared* prepared : {request->prepared.get(), request->exchange.get()}) {
    if (prepared == nullptr) continue;
    request->scratch.resize(std::max<std::size_t>(request->scratch.size(), prepared->scratch));
    request->progress.resize(std::max<std::size_t>(request->progress.size(), prepared->widest));
  }
  request->state.store(Request::kRunning, std::memory_order_relaxed);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  team_.engine().note_started();
  push(incoming_, request);
}

void Lane::drive(Context& c, bool* again) {
  // What is started while the lane is claimed must not be overlooked.
  do {
    if (claimed_.exchange(true, std::memory_order_seq_cst)) {
      *again = true;
      return;
    }
    run(c, again);
    claimed_.store(false, std::memory_order_seq_cst);
  } while (incoming_.load(std::memory_order_seq_cst) != nullptr);
}

void Lane::run(Context& c, bool* again) {
  take_in();
  while (first_ != nullptr) {
    Request& request = *first_;
    const int broken = team_.broken();
    if (broken != OMPL_OK) {
      end(request, broken);
      continue;
    }
    if (request.stage == Request::Stage::waiting) next_stage(request);
    const Turn turn = advance(c, request);
    if (turn == Turn::again) *again = true;
    if (turn != Turn::done) {
      if (team_.broken() == OMPL_OK) return;
      continue;
    }
    if (!next_stage(request)) end(request, request.failure);
  }
}

// Goes on to what comes after the stage that is over; false: nothing.
bool Lane::next_stage(Request& request) {
  using Stage = Request::Stage;
  using Clock = std::chrono::steady_clock;
  Tuning* const tuning = request.prepared->tuning;
  switch (request.stage) {
    case Stage::waiting:
      if (request.exchange == nullptr) break;
      begin(request, Stage::promises,
            {.schedule = request.exchange->schedules.front().get(),
             .receive = reinterpret_cast<std::byte*>(request.promises.data()),
             .operation = &kPromises});
      return true;
    case Stage::promises:
      request.why = disagreement(request.promises);
      if (request.why.empty()) break;
      request.failure = OMPL_ERR_ARG;
      return false;
    case Stage::times:
      if (tuning->learn(request.times) && explains())
        log::write(log::Level::info, explain_decision(*tuning));
      break;
    case Stage::itself:
      if (tuning != nullptr)
        tuning->note(std::chrono::duration<double>(Clock::now() - request.begun).count());
      return false;
  }
  if (tuning != nullptr && tuning->over()) {
    request.times = tuning->times();
    auto* const times = reinterpret_cast<std::byte*>(request.times.data());
    begin(request, Stage::times,
          {.schedule = request.prepared->exchange.get(),
           .send = times,
           .receive = times,
           .operation = &tuning->agreement()});
    return true;
  }
  if (tuning != nullptr) request.begun = Clock::now();
  const std::size_t candidate = tuning != nullptr ? tuning->candidate() : 0;
  begin(request, Stage::itself,
        {.schedule = request.prepared->schedules[candidate].get(),
         .send = request.send,
         .receive = request.receive,
         .operation = &request.operation});
  return true;
}

void Lane::begin(Request& request, Request::Stage stage, const Work& work) {
  request.stage = stage;
  request.now = work;
  request.round = 0;
  begin_round(request);
}

void Lane::ring(const Request& request) const {
  constexpr uint64_t kWorthWaking = 32768;  // bytes; sending fewer takes less time than waking a thread
  if (team_.is_served() && request.prepared->bytes >= kWorthWaking && request.runs())
    team_.engine().ring();
}

void Lane::take_in() {
  if (incoming_.load(std::memory_order_relaxed) == nullptr) return;
  Request* oldest = nullptr;
  for (Request* request = incoming_.exchange(nullptr); request != nullptr;) {
    Request* const next = request->next;
    request->next = oldest;
    oldest = request;
    request = next;
  }
  Request** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = oldest;
}

// The request is its owner's again at once.
void Lane::end(Request& request, int code) {
  first_ = request.next;
  under_way_.fetch_sub(1, std::memory_order_release);
  team_.engine().note_ended();
  request.state.store(code, std::memory_order_seq_cst);
  team_.runtime().wake_own_completions();
}

void Lane::begin_round(Request& request) {
  const Schedule& schedule = *request.now.schedule;
  request.begin = request.round == 0 ? 0 : schedule.rounds[request.round - 1];
  if (request.round == schedule.rounds.size()) return;
  for (uint32_t i = 0; i < schedule.rounds[request.round] - request.begin; ++i) {
    request.progress[i].phase = Progress::Phase::begin;
    request.progress[i].bytes = 0;
  }
}

Lane::Turn Lane::advance(Context& c, Request& request) {
  const Schedule& schedule = *request.now.schedule;
  for (int turn = 0; turn < kTurns; ++turn) {
    if (request.round == schedule.rounds.size()) return Turn::done;
    const uint32_t first = request.round == 0 ? 0 : schedule.rounds[request.round - 1];
    const uint32_t end = schedule.rounds[request.round];
    bool moved = false;
    bool again = false;
    bool over = true;
    for (uint32_t i = request.begin; i < end; ++i) {
      Progress& progress = request.progress[i - first];
      if (progress.phase == Progress::Phase::done) continue;
      const Turn result = step(c, request, schedule.steps[i], progress);
      moved = moved || result == Turn::moved || result == Turn::done;
      again = again || result == Turn::again;
      if (result == Turn::done) {
        progress.phase = Progress::Phase::done;
        if (over) request.begin = i + 1;
      } else {
        over = false;
      }
    }
    if (moved) moves_.store(moves() + 1, std::memory_order_relaxed);
    if (over) {
      ++request.round;
      begin_round(request);
    } else if (!moved) {
      return again ? Turn::again : Turn::blocked;
    }
  }
  return request.round == schedule.rounds.size() ? Turn::done : Turn::again;
}

Lane::Turn Lane::step(Context& c, Request& request, const Step& step, Progress& progress) {
  switch (step.kind) {
    case Step::Kind::send:
      return step.straight ? send_straight(c, request, step, progress)
                           : send(c, request, step, progress);
    case Step::Kind::receive:
    case Step::Kind::combine:
      return receive(c, request, step, progress);
    case Step::Kind::copy:
      arch::copy(address(request, step.to), address(request, step.from), step.length);
      return Turn::done;
    case Step::Kind::reduce:
      break;
  }
  std::byte* const to = address(request, step.to);
  if (request.failure == OMPL_OK &&
      !request.now.operation->apply(address(request, step.from), to, to, step.length, step.behind))
    note_failure(request, "the user-defined operation failed");
  return Turn::done;
}

// What the calls of the layer say: go on, or come again, or the team is of no use any more.
Lane::Turn Lane::outcome(int code) {
  if (code > OMPL_PENDING) return Turn::again;
  if (code >= OMPL_OK) return Turn::moved;
  team_.break_up(code, error_detail());
  return Turn::blocked;
}

uint64_t Lane::piece(const Request& request) const {
  const uint64_t room = team_.layout().room();
  const uint64_t element = request.now.operation->element;
  return element <= room ? room / element * element : room;
}

Lane::Turn Lane::send(Context& c, Request& request, const Step& step, Progress& progress) {
  Channel& channel = channels_[step.peer];
  const std::byte* const data = address(request, step.from);
  for (int i = 0; i < kBurst; ++i) {
    if (!channel.may_send()) return i > 0 ? Turn::moved : Turn::blocked;
    const uint64_t length = std::min(piece(request), step.length - progress.bytes);
    const int code = channel.send(c, data + progress.bytes, length, request.failure != OMPL_OK);
    if (code != OMPL_OK) return outcome(code);
    progress.bytes += length;
    if (progress.bytes == step.length) return Turn::done;
  }
  return Turn::moved;
}

Lane::Turn Lane::send_straight(Context& c, Request& request, const Step& step, Progress& progress) {
  using Phase = Progress::Phase;
  Channel& channel = channels_[step.peer];
  if (progress.phase == Phase::begin) {
    if (!channel.hear_place(&progress.offset)) return Turn::blocked;
    progress.phase = progress.offset != 0 ? Phase::straight : Phase::cells;
    progress.handle = {};
  }
  if (progress.phase == Phase::cells) return send(c, request, step, progress);
  if (progress.handle.kind != Pending::Kind::none) {
    const int code = team_.runtime().test(c, progress.handle);
    if (code == 0) return Turn::blocked;
    if (code < 0) return outcome(code);
    progress.handle = {};
  }
  if (progress.bytes == step.length) return Turn::done;
  const std::size_t length =
      std::min<uint64_t>(channel.mapped() ? kMappedPiece : kPiece, step.length - progress.bytes);
  const int code =
      channel.put(c, address(request, step.from) + progress.bytes, progress.offset + progress.bytes,
                  length, request.failure != OMPL_OK, &progress.handle);
  if (code != OMPL_OK && code != OMPL_PENDING) return outcome(code);
  progress.bytes += length;
  return progress.bytes == step.length && code == OMPL_OK ? Turn::done : Turn::moved;
}

Lane::Turn Lane::receive(Context& c, Request& request, const Step& step, Progress& progress) {
  using Phase = Progress::Phase;
  Channel& channel = channels_[step.peer];
  if (step.straight && progress.phase == Phase::begin) {
    uint64_t offset = 0;
    const bool straight = team_.runtime().offset_of(address(request, step.to), step.length, &offset);
    const int code = channel.say_place(c, straight ? offset : 0);
    if (code != OMPL_OK) return outcome(code);
    progress.phase = straight ? Phase::straight : Phase::cells;
  }
  bool failed = false;
  if (progress.phase == Phase::straight) {
    if (!channel.landed(step.length, &failed)) return Turn::blocked;
    if (failed) note_failure(request, "the operation of another member failed");
    return Turn::done;
  }
  for (int i = 0; i < kBurst; ++i) {
    const int owed = channel.acknowledge(c);
    if (owed != OMPL_OK && outcome(owed) == Turn::blocked) return Turn::blocked;
    std::byte* const data = channel.arrived();
    if (data == nullptr) return i > 0 ? Turn::moved : owed != OMPL_OK ? Turn::again : Turn::blocked;
    const uint64_t length = std::min(piece(request), step.length - progress.bytes);
    accept(request, step, data, progress.bytes, length);
    if (channel.take()) note_failure(request, "the operation of another member failed");
    progress.bytes += length;
    if (progress.bytes == step.length) {
      const int last = channel.acknowledge(c);
      return last < OMPL_OK ? outcome(last) : Turn::done;
    }
  }
  return Turn::moved;
}

void Lane::accept(Request& request, const Step& step, std::byte* data, uint64_t at,
                  std::size_t length) {
  std::byte* const to = address(request, step.to) + at;
  if (step.kind == Step::Kind::receive) {
    arch::copy(to, data, length);
    return;
  }
  if (request.failure != OMPL_OK) return;
  if (!request.now.operation->apply(data, address(request, step.from) + at, to, length, step.behind))
    note_failure(request, "the user-defined operation failed");
}

void Lane::note_failure(Request& request, const char* why) {
  if (request.failure != OMPL_OK) return;
  request.failure = OMPL_ERR_ARG;
  request.why = why;
}

std::byte* Lane::address(Request& request, Place place) {
  if (place.buffer == Buffer::scratch) return request.scratch.data() + place.offset;
  return (place.buffer == Buffer::send ? request.now.send : request.now.receive) + place.offset;
}

}  // namespace ompl::coll
