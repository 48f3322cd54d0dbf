// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tag_queue.hpp"

#include <algorithm>
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "coll/engine.hpp"
#include "coll/team/team.hpp"
#include "coll/tuner/explanation.hpp"
#include "util/status.hpp"

namespace ompl::coll {
namespace {

constexpr ReductionOperation kSignatures{.element = sizeof(CallSignature)};  // they are not cut

// Of a claim, also if there is no memory for what is to be done.
class Release {
 public:
  explicit Release(std::atomic<bool>& claimed) : claimed_(claimed) {}
  ~Release() { claimed_.store(false, std::memory_order_seq_cst); }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  std::atomic<bool>& claimed_;
};

void push(std::atomic<CollectiveRequest*>& list, CollectiveRequest* request) {
  request->next = list.load(std::memory_order_relaxed);
  while (!list.compare_exchange_weak(request->next, request)) {
  }
}

}  // namespace

TagQueue::TagQueue(Team& team, uint32_t number)
    : team_(team), executor_(team, team.channels(team.me(), number)), offload_client_(team, number) {}

TagQueue::~TagQueue() = default;

CollectiveRequest* TagQueue::fresh() {
  if (free_ == nullptr) free_ = returned_.exchange(nullptr);
  if (free_ == nullptr) free_ = requests_.emplace_back(std::make_unique<CollectiveRequest>()).get();
  CollectiveRequest* const request = free_;
  free_ = request->next;
  request->queue = this;
  return request;
}

void TagQueue::recycle(CollectiveRequest* request) { push(returned_, request); }

std::shared_ptr<const Prepared> TagQueue::prepare(const CollectiveCall& call) {
  const auto found = std::ranges::find(compiled_, call, &Compiled::call);
  if (found != compiled_.end()) {
    std::rotate(compiled_.begin(), found, found + 1);
    return compiled_.front().prepared;
  }
  const auto prepared = std::make_shared<Prepared>();
  prepared->number = ++prepared_;
  prepared->tuning = tuning_of(call);
  CollectiveCall one = call;
  std::shared_ptr<const Schedule> schedule;
  for (const TunerChoice& choice : prepared->tuning != nullptr
                                       ? prepared->tuning->choices()
                                       : std::vector<TunerChoice>{{call.algorithm}}) {
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
  prepared->can_be_offloaded =
      prepared->tuning == nullptr && team_.can_be_offloaded(*prepared->schedules.front());
  if (compiled_.size() == kCompiled) compiled_.pop_back();
  compiled_.insert(compiled_.begin(), {call, prepared});
  return prepared;
}

// Null: there is nothing to tune. All members come to the same.
Tuning* TagQueue::tuning_of(const CollectiveCall& call) {
  const Engine& engine = team_.engine();
  const bool open = call.algorithm == OMPL_COLL_AUTO || call.modes;
  if (!engine.tunes() || !open || call.listed || call.size < 2) return nullptr;
  const CallKind kind = kind_of(call);
  if (const auto found = tunings_.find(kind); found != tunings_.end()) return found->second.get();
  std::vector<TunerChoice> choices = short_list(kind, engine.known().machine().of(kind));
  if (choices.size() < 2) return nullptr;
  const std::vector<double> known = engine.known().known(kind, choices);
  auto tuning = std::make_unique<Tuning>(kind, std::move(choices), known);
  if (explains()) log::write(log::Level::info, explain_beginning(*tuning, engine.known().machine()));
  return (tunings_[kind] = std::move(tuning)).get();
}

// One member does so for all.
bool TagQueue::explains() const { return team_.me() == 0 && team_.engine().explains(); }

void TagQueue::tell(Table* table) const {
  if (busy()) return;
  for (const auto& [kind, tuning] : tunings_) tuning->tell(table);
}

void TagQueue::start(CollectiveRequest* request) {
  for (const Prepared* prepared : {request->prepared.get(), request->exchange.get()})
    if (prepared != nullptr) request->execution.make_room(prepared->widest);
  request->stage = CollectiveRequest::Stage::waiting;
  request->execution.failure = OMPL_OK;
  request->offloaded = false;
  if (const Tuning* const tuning = request->prepared->tuning; tuning != nullptr && tuning->kind().modes)
    request->started = std::chrono::steady_clock::now();
  if (request->exchange != nullptr) {
    request->signatures.resize(team_.size());
    request->signatures[team_.me()] = request->signature;
  }
  request->callback.state.store(RequestCallback::State::running, std::memory_order_relaxed);
  request->state.store(CollectiveRequest::kRunning, std::memory_order_relaxed);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  const bool shares = progress() == OMPL_PROGRESS_SHARED && !team_.engine().has_network();
  request->worth_waking = request->prepared->bytes >= (shares ? kWorthSharing : kWorthWaking);
  if (request->worth_waking) worth_waking_.fetch_add(1, std::memory_order_relaxed);
  team_.engine().note_started();
  push(incoming_, request);
  if (team_.locked_queue() != nullptr) team_.locked_queue()->add(*this);
}

void TagQueue::drive(Context& c, bool* again) {
  if (team_.locked_queue() != nullptr) {
    team_.locked_queue()->drive(c, again);
    return;
  }
  // What is started while the tag queue is claimed must not be overlooked.
  do {
    if (claimed_.exchange(true, std::memory_order_seq_cst)) {
      *again = true;
      return;
    }
    const Release release(claimed_);
    run(c, again);
  } while (incoming_.load(std::memory_order_seq_cst) != nullptr);
}

void TagQueue::run(Context& c, bool* again) {
  const uint64_t before = executor_.moves();
  take_in();
  do {
    offload();
  } while (first_ != nullptr && go_on(c, Executor::kTurns, again));
  if (team_.offloads() && executor_.moves() != before) offload_client_.nudge();
}

// What the node's progress thread may have, up to the first request that it may not.
void TagQueue::offload() {
  if (!team_.offloads()) return;
  for (CollectiveRequest* request = first_; request != nullptr && offload_client_.offer(*request);
       request = request->next) {
  }
}

bool TagQueue::turn(Context& c, bool* again) {
  take_in();
  if (first_ == nullptr) {  // it was counted, and comes in a moment
    *again = true;
    return false;
  }
  const uint64_t before = moves();
  return go_on(c, 1, again) || moves() != before;
}

// A thread waits for it, or for one behind it. Those that have not been taken in yet are nobody's.
bool TagQueue::is_awaited(const CollectiveRequest* request) const {
  while (request != nullptr && request->attendants.load(std::memory_order_seq_cst) == 0)
    request = request->next;
  return request != nullptr;
}

void TagQueue::attend(CollectiveRequest& request) {
  request.attendants.fetch_add(1, std::memory_order_seq_cst);
  attendants_.fetch_add(1, std::memory_order_seq_cst);
}

void TagQueue::leave(CollectiveRequest& request) {
  attendants_.fetch_sub(1, std::memory_order_seq_cst);
  request.attendants.fetch_sub(1, std::memory_order_seq_cst);
  const bool worth =
      worth_waking_.load(std::memory_order_relaxed) != 0 || team_.locked_queue() != nullptr;
  if (worth && busy() && has_progress_thread(progress())) team_.engine().notify();
}

// Goes on with the first request; true if the next, or its next stage, can begin.
bool TagQueue::go_on(Context& c, int turns, bool* again) {
  CollectiveRequest& request = *first_;
  const int broken = team_.broken();
  if (request.offloaded) {
    switch (offload_client_.owner(request, is_awaited(&request) || broken != OMPL_OK)) {
      case OffloadClient::Owner::proxy:
        if (broken == OMPL_OK) return false;
        offload_client_.recall(request);
        break;
      case OffloadClient::Owner::over:
        end(request, offload_client_.result(request));
        return true;
      case OffloadClient::Owner::own:
        break;
    }
  }
  if (broken != OMPL_OK) {
    end(request, broken);
    return true;
  }
  if (request.stage == CollectiveRequest::Stage::waiting) {
    find_scratch(request);
    next_stage(request);
  }
  using Turn = Executor::Turn;
  const Turn turn = executor_.advance(c, request.execution, turns);
  if (turn == Turn::again) *again = true;
  if (turn != Turn::done) return team_.broken() != OMPL_OK;
  if (!next_stage(request)) end(request, request.execution.failure);
  return true;
}

// Goes on to what comes after the stage that is over; false: nothing.
bool TagQueue::next_stage(CollectiveRequest& request) {
  using Stage = CollectiveRequest::Stage;
  Tuning* const tuning = request.prepared->tuning;
  // Before the collective itself all members depend on each other: who fails there fails with all.
  const bool alike = request.stage == Stage::signatures || request.stage == Stage::times;
  if (alike && request.execution.failure != OMPL_OK) return false;
  switch (request.stage) {
    case Stage::waiting:
      if (request.exchange == nullptr) break;
      exchange_signatures(request);
      return true;
    case Stage::signatures:
      request.execution.why = disagreement(request.signatures);
      if (request.execution.why.empty()) break;
      request.execution.failure = OMPL_ERR_ARG;
      return false;
    case Stage::times:
      if (tuning->learn(request.times) && explains())
        log::write(log::Level::info, explain_decision(*tuning));
      break;
    case Stage::itself:
      if (tuning != nullptr && !tuning->kind().modes) note_time(request, request.begun);
      return false;
  }
  tuning != nullptr && tuning->over() ? exchange_times(request) : begin_itself(request);
  return true;
}

void TagQueue::exchange_signatures(CollectiveRequest& request) {
  begin(request, CollectiveRequest::Stage::signatures,
        {.schedule = request.exchange->schedules.front().get(),
         .receive = reinterpret_cast<std::byte*>(request.signatures.data()),
         .operation = &kSignatures});
}

void TagQueue::exchange_times(CollectiveRequest& request) {
  Tuning& tuning = *request.prepared->tuning;
  request.times = tuning.times();
  auto* const times = reinterpret_cast<std::byte*>(request.times.data());
  begin(request, CollectiveRequest::Stage::times,
        {.schedule = request.prepared->exchange.get(),
         .send = times,
         .receive = times,
         .operation = &tuning.agreement()});
}

void TagQueue::begin_itself(CollectiveRequest& request) {
  request.ticket = {};
  if (request.prepared->tuning != nullptr) choose(request);
  begin(request, CollectiveRequest::Stage::itself,
        {.schedule = request.prepared->schedules[request.ticket.candidate].get(),
         .send = request.send,
         .receive = request.receive,
         .operation = &request.operation});
}

// What is tuned learns how long the request has taken, if its ticket asks for that.
void TagQueue::note_time(CollectiveRequest& request, std::chrono::steady_clock::time_point since) {
  if (!request.ticket.is_timed()) return;
  const auto took = std::chrono::steady_clock::now() - since;
  request.prepared->tuning->note(std::exchange(request.ticket, {}),
                                 std::chrono::duration<double>(took).count());
}

// What the request takes. Its turn may come when no thread that would make progress looks at the tag queue.
void TagQueue::choose(CollectiveRequest& request) {
  Tuning& tuning = *request.prepared->tuning;
  request.ticket = tuning.take();
  if (tuning.kind().modes) {
    const int32_t mode = tuning.choices()[request.ticket.candidate].mode;
    const bool open = team_.progress() == OMPL_PROGRESS_AUTO;
    if (chosen_.exchange(mode, std::memory_order_relaxed) != mode && open) team_.engine().note_modes();
    notify(request);
  }
  if (request.ticket.is_timed()) request.begun = std::chrono::steady_clock::now();
}

int32_t TagQueue::progress() const {
  const int32_t mode = team_.progress();
  return mode == OMPL_PROGRESS_AUTO ? chosen_.load(std::memory_order_relaxed) : mode;
}

void TagQueue::note_end(CollectiveRequest& request) {
  const Tuning* const tuning = request.prepared->tuning;
  if (tuning != nullptr && tuning->kind().modes) note_time(request, request.started);
}

void TagQueue::find_scratch(CollectiveRequest& request) {
  for (const Prepared* prepared : {request.prepared.get(), request.exchange.get()})
    if (prepared != nullptr) request.execution.find_scratch(prepared->scratch);
}

void TagQueue::begin(CollectiveRequest& request, CollectiveRequest::Stage stage, const Work& work) {
  request.stage = stage;
  request.execution.begin(work);
}

bool TagQueue::is_left_to_thread(const CollectiveRequest& request) const {
  return request.worth_waking && progress() == OMPL_PROGRESS_SPARE && team_.locked_queue() == nullptr;
}

void TagQueue::notify(const CollectiveRequest& request) const {
  const bool worth = request.worth_waking || team_.locked_queue() != nullptr;
  if (has_progress_thread(progress()) && worth && request.runs()) team_.engine().notify();
}

void TagQueue::take_in() {
  if (incoming_.load(std::memory_order_relaxed) == nullptr) return;
  CollectiveRequest* oldest = nullptr;
  for (CollectiveRequest* request = incoming_.exchange(nullptr); request != nullptr;) {
    CollectiveRequest* const next = request->next;
    request->next = oldest;
    oldest = request;
    request = next;
  }
  CollectiveRequest** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = oldest;
}

int TagQueue::outcome(const CollectiveRequest& request) {
  const int code = request.state.load(std::memory_order_acquire);
  if (code == OMPL_OK) return OMPL_OK;
  const Team& team = request.queue->team();
  const Execution& execution = request.execution;
  return fail_quietly(code, execution.failure == code ? execution.why : team.why_broken());
}

// The request is its owner's again at once, unless a callback waits for it.
void TagQueue::end(CollectiveRequest& request, int code) {
  if (request.offloaded) offload_client_.end(request);
  first_ = request.next;
  if (request.worth_waking) worth_waking_.fetch_sub(1, std::memory_order_relaxed);
  under_way_.fetch_sub(1, std::memory_order_release);
  team_.engine().note_ended(code);
  using State = RequestCallback::State;
  const bool calls_back =
      request.callback.state.exchange(State::over, std::memory_order_acq_rel) == State::wanted;
  request.state.store(code, std::memory_order_seq_cst);
  if (calls_back) team_.engine().make_due(request.callback);
  team_.runtime().sleepers.wake_own_completions();
}

}  // namespace ompl::coll
