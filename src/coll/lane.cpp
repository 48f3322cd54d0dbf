// SPDX-License-Identifier: BSD-3-Clause
#include "coll/lane.hpp"

#include <algorithm>
#include <new>
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
  Call one = call;
  std::shared_ptr<const Schedule> schedule;
  for (const Choice& choice : prepared->tuning != nullptr ? prepared->tuning->choices()
                                                          : std::vector<Choice>{{call.algorithm}}) {
    if (schedule == nullptr || choice.algorithm != one.algorithm) {
      one.algorithm = choice.algorithm;
      schedule = compile(one);
    }
    if (schedule == nullptr) return nullptr;
    prepared->add(schedule);
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
  const bool open = call.algorithm == OMPL_COLL_AUTO || call.modes;
  if (!engine.tunes() || !open || call.listed || call.size < 2) return nullptr;
  const Kind kind = kind_of(call);
  if (const auto found = tunings_.find(kind); found != tunings_.end()) return found->second.get();
  std::vector<Choice> choices = short_list(kind, engine.known().machine().of(kind));
  if (choices.size() < 2) return nullptr;
  const std::vector<double> known = engine.known().known(kind, choices);
  auto tuning = std::make_unique<Tuning>(kind, std::move(choices), known);
  if (explains()) log::write(log::Level::info, explain_beginning(*tuning, engine.known().machine()));
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
  if (request->prepared->tuning != nullptr) request->started = std::chrono::steady_clock::now();
  if (request->exchange != nullptr) {
    request->promises.resize(team_.size());
    request->promises[team_.me()] = request->promise;
  }
  for (const Prepared* prepared : {request->prepared.get(), request->exchange.get()}) {
    if (prepared == nullptr) continue;
    request->progress.resize(std::max<std::size_t>(request->progress.size(), prepared->widest));
    find_room(*request, prepared->scratch);
  }
  request->state.store(Request::kRunning, std::memory_order_relaxed);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  team_.engine().note_started();
  push(incoming_, request);
  if (team_.queue() != nullptr) team_.queue()->add(*this);
}

// Without it the request goes on and tells the others, who have started it, too.
void Lane::find_room(Request& request, uint64_t bytes) {
  if (bytes <= request.scratch.size()) return;
  try {
    request.scratch.resize(bytes);
  } catch (const std::bad_alloc&) {
    note_failure(
        request, OMPL_ERR_MEMORY,
        fmt::format("no memory for {} bytes that the algorithm needs beside the buffers; choose "
                    "another, or make shorter calls",
                    bytes));
  }
}

void Lane::drive(Context& c, bool* again) {
  if (team_.queue() != nullptr) {
    team_.queue()->drive(c, again);
    return;
  }
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
  while (first_ != nullptr && go_on(c, kTurns, again)) {
  }
}

bool Lane::turn(Context& c, bool* again) {
  take_in();
  if (first_ == nullptr) {  // it was counted, and comes in a moment
    *again = true;
    return false;
  }
  const uint64_t before = moves();
  return go_on(c, 1, again) || moves() != before;
}

// Goes on with the first request; true if the next, or its next stage, can begin.
bool Lane::go_on(Context& c, int turns, bool* again) {
  Request& request = *first_;
  if (const int broken = team_.broken(); broken != OMPL_OK) {
    end(request, broken);
    return true;
  }
  if (request.stage == Request::Stage::waiting) next_stage(request);
  const Turn turn = advance(c, request, turns);
  if (turn == Turn::again) *again = true;
  if (turn != Turn::done) return team_.broken() != OMPL_OK;
  if (!next_stage(request)) end(request, request.failure);
  return true;
}

// Goes on to what comes after the stage that is over; false: nothing.
bool Lane::next_stage(Request& request) {
  using Stage = Request::Stage;
  using Clock = std::chrono::steady_clock;
  Tuning* const tuning = request.prepared->tuning;
  // Before the collective itself all members depend on each other: who fails there fails with all.
  const bool alike = request.stage == Stage::promises || request.stage == Stage::times;
  if (alike && request.failure != OMPL_OK) return false;
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
      if (tuning != nullptr && !tuning->kind().modes)
        tuning->note(request.ticket,
                     std::chrono::duration<double>(Clock::now() - request.begun).count());
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
  request.ticket = {};
  if (tuning != nullptr) choose(request);
  begin(request, Stage::itself,
        {.schedule = request.prepared->schedules[request.ticket.candidate].get(),
         .send = request.send,
         .receive = request.receive,
         .operation = &request.operation});
  return true;
}

// What the request takes. Its turn may come when no thread that would make progress looks at the lane.
void Lane::choose(Request& request) {
  Tuning& tuning = *request.prepared->tuning;
  request.ticket = tuning.take();
  if (tuning.kind().modes) {
    const int32_t mode = tuning.choices()[request.ticket.candidate].mode;
    const bool open = team_.progress() == OMPL_PROGRESS_AUTO;
    if (chosen_.exchange(mode, std::memory_order_relaxed) != mode && open) team_.engine().note_modes();
    ring(request);
  }
  request.begun = std::chrono::steady_clock::now();
}

int32_t Lane::progress() const {
  const int32_t mode = team_.progress();
  return mode == OMPL_PROGRESS_AUTO ? chosen_.load(std::memory_order_relaxed) : mode;
}

void Lane::note_end(Request& request) {
  Tuning* const tuning = request.prepared->tuning;
  if (tuning == nullptr || !tuning->kind().modes) return;
  const auto took = std::chrono::steady_clock::now() - request.started;
  tuning->note(std::exchange(request.ticket, {}), std::chrono::duration<double>(took).count());
}

void Lane::begin(Request& request, Request::Stage stage, const Work& work) {
  request.stage = stage;
  request.now = work;
  request.round = 0;
  begin_round(request);
}

void Lane::ring(const Request& request) const {
  const bool worth = request.prepared->bytes >= kWorthWaking || team_.queue() != nullptr;
  if (is_served(progress()) && worth && request.runs()) team_.engine().ring();
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

Lane::Turn Lane::advance(Context& c, Request& request, int turns) {
  const Schedule& schedule = *request.now.schedule;
  for (int turn = 0; turn < turns; ++turn) {
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
    case Step::Kind::reduce:
      break;
  }
  if (request.failure != OMPL_OK) return Turn::done;
  std::byte* const to = address(request, step.to);
  std::byte* const from = address(request, step.from);
  if (step.kind == Step::Kind::copy)
    arch::copy(to, from, step.length);
  else if (!request.now.operation->apply(from, to, to, step.length, step.behind))
    note_failure(request, OMPL_ERR_ARG, "the user-defined operation failed");
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
  const bool fails = request.failure != OMPL_OK;
  for (int i = 0; i < kBurst; ++i) {
    if (!channel.may_send()) return i > 0 ? Turn::moved : Turn::blocked;
    const uint64_t length = std::min(piece(request), step.length - progress.bytes);
    const std::byte* const data = fails ? nullptr : address(request, step.from) + progress.bytes;
    const int code = channel.send(c, data, length, request.failure);
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
  if (request.failure != OMPL_OK) {
    const int code = channel.give_up(c, step.length - progress.bytes, request.failure);
    return code == OMPL_OK ? Turn::done : outcome(code);
  }
  const std::size_t length =
      std::min<uint64_t>(channel.mapped() ? kMappedPiece : kPiece, step.length - progress.bytes);
  const int code = channel.put(c, address(request, step.from) + progress.bytes,
                               progress.offset + progress.bytes, length, &progress.handle);
  if (code != OMPL_OK && code != OMPL_PENDING) return outcome(code);
  progress.bytes += length;
  return progress.bytes == step.length && code == OMPL_OK ? Turn::done : Turn::moved;
}

Lane::Turn Lane::receive(Context& c, Request& request, const Step& step, Progress& progress) {
  using Phase = Progress::Phase;
  Channel& channel = channels_[step.peer];
  if (step.straight && progress.phase == Phase::begin) {
    uint64_t offset = 0;
    const bool straight = request.failure == OMPL_OK &&
                          team_.runtime().offset_of(address(request, step.to), step.length, &offset);
    const int code = channel.say_place(c, straight ? offset : 0);
    if (code != OMPL_OK) return outcome(code);
    progress.phase = straight ? Phase::straight : Phase::cells;
  }
  int failure = OMPL_OK;
  if (progress.phase == Phase::straight) {
    if (!channel.landed(step.length, &failure)) return Turn::blocked;
    note_others(request, failure);
    return Turn::done;
  }
  for (int i = 0; i < kBurst; ++i) {
    const int owed = channel.acknowledge(c);
    if (owed != OMPL_OK && outcome(owed) == Turn::blocked) return Turn::blocked;
    std::byte* const data = channel.arrived(&failure);
    if (data == nullptr) return i > 0 ? Turn::moved : owed != OMPL_OK ? Turn::again : Turn::blocked;
    const uint64_t length = std::min(piece(request), step.length - progress.bytes);
    note_others(request, failure);
    accept(request, step, data, progress.bytes, length);
    channel.take();
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
  if (request.failure != OMPL_OK) return;
  std::byte* const to = address(request, step.to) + at;
  if (step.kind == Step::Kind::receive)
    arch::copy(to, data, length);
  else if (!request.now.operation->apply(data, address(request, step.from) + at, to, length,
                                         step.behind))
    note_failure(request, OMPL_ERR_ARG, "the user-defined operation failed");
}

void Lane::note_failure(Request& request, int code, std::string why) {
  if (request.failure != OMPL_OK) return;
  request.failure = code;
  request.why = std::move(why);
}

void Lane::note_others(Request& request, int code) {
  if (code != OMPL_OK)
    note_failure(request, code,
                 code == OMPL_ERR_MEMORY ? "another member is out of memory"
                                         : "the operation of another member failed");
}

std::byte* Lane::address(Request& request, Place place) {
  if (place.buffer == Buffer::scratch) return request.scratch.data() + place.offset;
  return (place.buffer == Buffer::send ? request.now.send : request.now.receive) + place.offset;
}

}  // namespace ompl::coll
