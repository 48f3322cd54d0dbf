// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/utofu/connections.hpp"

#include <new>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {
namespace {

constexpr int64_t kHeartbeatMs = 1000;
constexpr uint32_t kPollsPerClock = 16;
constexpr unsigned long kStrong = UTOFU_ONESIDED_FLAG_STRONG_ORDER;
constexpr const char* kLeft = "it left the job";

// A word that the other side puts.
uint64_t read(const uint64_t& word) {
  return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

}  // namespace

Connections::Connections(const SharedState& shared, uint32_t slot, VcqOperationPool& operations)
    : shared_(shared), slot_(slot), operations_(operations), links_(shared.job->size) {}

int Connections::open(const Vcq& vcq) {
  vcq_ = &vcq;
  if (const int code = board_.open(Board::size(shared_.job->size)); code != OMPL_OK) return code;
  const int code = board_memory_.open(vcq, board_.data(), board_.size(), kBoardStag);
  if (code == UTOFU_SUCCESS) return OMPL_OK;
  return ompl::fail(OMPL_ERR_MEMORY,
                    "uTofu cannot register the {} bytes of an endpoint's board: {} ({})", board_.size(),
                    text_of(code), code);
}

VcqLink& Connections::add(uint32_t rank) {
  VcqLink& link = links_.add(rank);
  link.reply = on_board<Reply>(Board::reply(rank));
  links_.use(link);
  return link;
}

VcqLink& Connections::use(uint32_t rank) {
  if (VcqLink* link = find(rank); link != nullptr) return *link;
  VcqLink& link = add(rank);
  const std::vector<uint64_t>& slots = slots_of(rank);
  if (slots.empty()) {
    fail(link, OMPL_ERR_LINK, "it is not reached by this conduit");
    return link;
  }
  link.vcq = slots[slot_ % slots.size()];
  link.board = stadd_of(*shared_.library, link.vcq, kBoardStag);
  ++connecting_;
  advance(link);
  return link;
}

uint64_t Connections::room(VcqLink& link) {
  if (link.state != VcqLink::State::up) return 0;
  const uint64_t limit = read(link.reply->taken) + kRing;
  if (!link.departed) link.limit = limit;
  return limit - link.sent;
}

// The code of a command that was posted.
int Connections::note(int code) {
  refused_ = refused_ || code == UTOFU_ERR_BUSY;
  return code;
}

// One step towards a connection; false: it waits, for room in the queue or for the other side.
bool Connections::advance(VcqLink& link) {
  using State = VcqLink::State;
  int code = UTOFU_SUCCESS;
  switch (link.state) {
    case State::fresh: {
      if (operations_.full()) return false;
      VcqOperation* const operation = &operations_.take(link);
      operation->ticket = 0;
      code = shared_.library->armw8(vcq_->handle(), link.vcq, UTOFU_ARMW_OP_ADD, 1,
                                    link.board + Board::kTickets, operation->number,
                                    UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, report_to(*operation));
      if (code == UTOFU_SUCCESS) {
        link.state = State::asked;
      } else {
        operations_.give_back(*operation);
      }
      break;
    }
    case State::placed: {
      const uint64_t challenge = (*shared_.peers)[link.rank].challenge;
      BoardGreeting greeting{
          .cookie = cookie(shared_.job->secret, shared_.job->rank, link.rank, challenge),
          .rank = shared_.job->rank,
          .slot = slot_,
          .there = 1};
      code = shared_.library->put_piggyback(vcq_->handle(), link.vcq, &greeting,
                                            link.board + Board::greeting(shared_.job->size, link.place),
                                            sizeof greeting, 0, kStrong, report_to(link));
      if (code == UTOFU_SUCCESS) link.state = State::greeted;
      break;
    }
    case State::greeted:
      link.ring = read(link.reply->ring);
      if (link.ring == 0) return false;
      if (link.ring == kNoRing) {
        fail(link, OMPL_ERR_LINK, "its endpoint has no room for records of another one");
        return false;
      }
      link.state = State::up;
      room(link);
      --connecting_;
      log::debug("utofu: endpoint {} connected to rank {}", slot_, link.rank);
      return true;
    default:
      return false;
  }
  if (note(code) == UTOFU_SUCCESS) return true;
  if (code != UTOFU_ERR_BUSY) lost(link, code);
  return false;
}

void Connections::placed(VcqLink& link, uint64_t place) {
  if (link.state != VcqLink::State::asked) return;
  link.place = place;
  link.state = VcqLink::State::placed;
  if (place >= Board::greetings(shared_.job->size))
    fail(link, OMPL_ERR_LINK,
         "more endpoints talk to its endpoint than it has room for: set OMPL_ENDPOINTS alike on all "
         "ranks");
}

// --- The other side's ----------------------------------------------------------------------------------

int Connections::take_greetings() {
  int taken = 0;
  while (greetings_ < Board::greetings(shared_.job->size)) {
    const auto* const next = on_board<BoardGreeting>(Board::greeting(shared_.job->size, greetings_));
    if (read(next->there) == 0) break;
    try {
      welcome(*next);
    } catch (const std::bad_alloc&) {  // later
      break;
    }
    ++greetings_;
    ++taken;
  }
  return taken;
}

void Connections::welcome(const BoardGreeting& greeting) {
  const Job& job = *shared_.job;
  const bool known = greeting.rank < job.size && greeting.slot < slots_of(greeting.rank).size() &&
                     greeting.cookie == shared_.cookies[greeting.rank];
  if (!known) return log::warn("utofu: dropped a greeting that does not belong to this job");
  if (incoming_.size() == incoming_.capacity()) incoming_.reserve(2 * incoming_.size() + 1);
  auto from = std::make_unique<Incoming>();
  from->rank = greeting.rank;
  from->vcq = slots_of(greeting.rank)[greeting.slot];
  from->reply = stadd_of(*shared_.library, from->vcq, kBoardStag) + Board::reply(job.rank);
  const int code = from->memory.open(*vcq_, from->ring.data(), sizeof from->ring);
  if (code != UTOFU_SUCCESS)
    log::warn("utofu: no ring for rank {}: {} ({})", from->rank, text_of(code), code);
  from->offer = code == UTOFU_SUCCESS ? from->memory.stadd() : kNoRing;
  incoming_.push_back(std::move(from));
  ++connecting_;
  try {
    use(greeting.rank);
  } catch (const std::bad_alloc&) {  // whoever next sends there makes it
  }
}

void Connections::tell(Incoming& from) {
  const int code = shared_.library->put_piggyback8(vcq_->handle(), from.vcq, from.taken,
                                                   from.reply + offsetof(Reply, taken),
                                                   sizeof from.taken, 0, kStrong, nullptr);
  if (note(code) == UTOFU_SUCCESS) from.told = from.taken;
}

int Connections::progress() {
  int taken = take_greetings();
  if (connecting_ > 0) {
    for (const auto& from : incoming_) {
      if (from->offered) continue;
      const int code = shared_.library->put_piggyback8(vcq_->handle(), from->vcq, from->offer,
                                                       from->reply + offsetof(Reply, ring),
                                                       sizeof(uint64_t), 0, kStrong, nullptr);
      if (note(code) == UTOFU_ERR_BUSY) continue;
      from->offered = true;
      --connecting_;
      ++taken;
    }
    for (std::size_t i = 0; i < links().size(); ++i) taken += advance(*links()[i]) ? 1 : 0;
  }
  if (taken == 0 && ++polls_ % kPollsPerClock == 0) heartbeat();
  return taken;
}

void Connections::settle() {
  for (const auto& link : links())
    if (link->unnoticed > 0) settle(*link);
}

bool Connections::settle(VcqLink& link) {
  if (link.unnoticed > 0 && !link.window.full() && !operations_.full()) try_out(link);
  return link.unnoticed == 0;
}

// A side to which nothing was sent for a while is tried by a word that nobody reads.
void Connections::heartbeat() {
  const int64_t now = arch::now_ms();
  if (now - last_heartbeat_ < kHeartbeatMs) return;
  last_heartbeat_ = now;
  for (const auto& link : links()) {
    const bool silent = link->last_heartbeat == link->window.next();
    const bool tried = link->sends() || link->state == VcqLink::State::greeted;  // it may never answer
    if (silent && tried && !link->window.full() && !operations_.full()) try_out(*link);
    link->last_heartbeat = link->window.next();
  }
}

// To its board; an operation and its window have room. True: it is under way.
bool Connections::put_word(VcqLink& link, std::size_t place, uint64_t word) {
  VcqOperation& operation = operations_.take(link);
  const int code = shared_.library->put_piggyback8(
      vcq_->handle(), link.vcq, word, link.board + place, sizeof word, operation.number,
      kStrong | UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, report_to(operation));
  if (note(code) == UTOFU_SUCCESS) {
    operations_.issue(operation);
    return true;
  }
  operations_.give_back(operation);
  if (code != UTOFU_ERR_BUSY) lost(link, code);
  return false;
}

// --- Ends ----------------------------------------------------------------------------------------------

void Connections::lost(utofu_vcq_id_t vcq, int code) {
  for (const auto& link : links()) {
    if (link->vcq == vcq) lost(*link, code);
  }
}

void Connections::lost(VcqLink& link, int code) {
  const bool silent = code == UTOFU_ERR_MRQ_PEER;
  if (silent && read(link.reply->left) != 0) link.departed = true;
  if (link.departed) return fail(link, OMPL_ERR_LINK, kLeft);
  fail(link, silent ? OMPL_ERR_PEER : OMPL_ERR_LINK,
       in_words([code] { return fmt::format("{} ({})", text_of(code), code); }));
}

void Connections::said_goodbye(uint32_t rank) {
  VcqLink* known = find(rank);
  try {
    if (known == nullptr) known = &add(rank);
  } catch (const std::bad_alloc&) {  // nothing was ever sent there
    return;
  }
  VcqLink& link = *known;
  link.departed = true;
  link.limit = 0;
  part_if_idle(link);
}

// What is outstanding uses the memory of callers, but for what asked for no notice: first that has to end.
void Connections::part_if_idle(VcqLink& link) {
  if (link.departed && link.window.outstanding() == link.unnoticed) fail(link, OMPL_ERR_LINK, kLeft);
}

bool Connections::say_goodbye(VcqLink& link) {
  const std::size_t place = Board::reply(shared_.job->rank) + offsetof(Reply, left);
  return !link.window.full() && !operations_.full() && put_word(link, place, 1);
}

// Everything outstanding on the link counts as complete. Its goodbye may still be said.
void Connections::fail(VcqLink& link, int code, std::string_view why) {
  if (link.failure != OMPL_OK) return;
  if (link.state < VcqLink::State::up && link.vcq != 0) --connecting_;
  if (!link.departed || link.state != VcqLink::State::up) link.state = VcqLink::State::failed;
  link.limit = 0;
  link.note_why(why);
  operations_.forget_unnoticed(link);
  link.failure.store(code, std::memory_order_release);
  link.window.close();
  log::info("utofu: connection of endpoint {} to rank {}: {}", slot_, link.rank, link.why);
}

}  // namespace ompl::conduit::utofu
