// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/utofu/endpoint.hpp"

#include <algorithm>
#include <numeric>

#include "arch/clock.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {
namespace {

constexpr int64_t kGoodbyeMs = 200;
// Every put is in order with those before it: a record must come after data however long they are.
constexpr unsigned long kPut = UTOFU_ONESIDED_FLAG_STRONG_ORDER;
constexpr unsigned long kNotice = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
constexpr uint64_t kAddOne = Record::tail_of(static_cast<uint8_t>(SignalOp::update32), Function::add);

Record record_of(const Signal& signal) {
  return {.offset = signal.offset,
          .value = signal.value,
          .token = signal.token,
          .tail = Record::tail_of(static_cast<uint8_t>(signal.op), signal.function)};
}

}  // namespace

UtofuEndpoint::UtofuEndpoint(const SharedState& shared, const Vcq& vcq, uint32_t slot)
    : shared_(shared),
      segment_version_(shared.segment->version()),
      vcq_(vcq),
      library_(*shared.library),
      handle_(vcq.handle()),
      connections_(shared, slot, operations_) {}

int UtofuEndpoint::open() {
  if (const int code = connections_.open(vcq_); code != OMPL_OK) return code;
  if (const int code = bounce_pages_.open(kBounce * kBounces); code != OMPL_OK) return code;
  const int code = bounce_memory_.open(vcq_, bounce_pages_.data(), bounce_pages_.size());
  if (code != UTOFU_SUCCESS)
    return fail(OMPL_ERR_MEMORY, "uTofu cannot register the {} bytes of an endpoint's buffers: {} ({})",
                bounce_pages_.size(), text_of(code), code);
  bounces_.resize(kBounces);
  std::iota(bounces_.begin(), bounces_.end(), uint16_t{0});
  return OMPL_OK;
}

UtofuEndpoint::~UtofuEndpoint() {
  drain(*this, arch::now_ms() + kGoodbyeMs, [this] { return parted(); });
}

// Tells the others that this end is meant; true once they have said so too.
bool UtofuEndpoint::parted() {
  bool all = true;
  for (const auto& link : connections_.links()) {
    const bool up = link->state == VcqLink::State::up;
    const bool fits = connections_.room(*link) > 0 && !link->window.full() && !operations_.full();
    if (up && !link->goodbye_said && fits)
      link->goodbye_said = post_record(*link, {.tail = kGoodbye}).state == Post::State::done;
    if (link->connecting() && !link->left_said) link->left_said = connections_.say_goodbye(*link);
    all = all && !link->connecting() && (!up || (link->goodbye_said && link->departed));
  }
  return all && operations_.outstanding() == 0;
}

// --- Posting -------------------------------------------------------------------------------------------

Post UtofuEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  VcqLink* const link = ready(rank, 0, &answer);
  if (link == nullptr || !aim(*link, offset, length, &answer)) return answer;
  VcqOperation& operation = operations_.take(*link);
  const utofu_stadd_t remote = link->aim.base + offset;
  if (length <= kPiggyback) {
    const int code =
        library_.put_piggyback(handle_, link->vcq, const_cast<void*>(source), remote, length,
                               operation.number, kPut | kNotice, report_to(operation));
    return answer_to(code, *link, operation, Post::State::done);
  }
  utofu_stadd_t local = 0;
  if (!load(source, length, false, &operation, &local, &answer)) {
    release(operation);
    return answer;
  }
  const bool copied = operation.bounce != VcqOperation::kNoBounce;
  if (copied)
    std::copy_n(static_cast<const std::byte*>(source), length,
                bounce_pages_.data() + operation.bounce * kBounce);
  const int code = library_.put(handle_, link->vcq, local, remote, length, operation.number,
                                kPut | kNotice, report_to(operation));
  return answer_to(code, *link, operation, copied ? Post::State::done : Post::State::pending);
}

Post UtofuEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  VcqLink* const link = ready(rank, 0, &answer);
  if (link == nullptr || !aim(*link, offset, length, &answer)) return answer;
  // Gets are in no order: the notice of one says nothing of what was posted before.
  if (!connections_.settle(*link) || !link->sends() || link->window.full() || operations_.full())
    return retry(Post::Reason::queue_full);
  VcqOperation& operation = operations_.take(*link);
  utofu_stadd_t local = 0;
  if (!load(target, length, true, &operation, &local, &answer)) {
    release(operation);
    return answer;
  }
  operation.target = target;
  operation.length = length;
  const int code = library_.get(handle_, link->vcq, local, link->aim.base + offset, length,
                                operation.number, kNotice, report_to(operation));
  return answer_to(code, *link, operation, Post::State::pending);
}

// What compares needs a record before it. If that one alone is posted, it is of no account: the next one is not its.
Post UtofuEndpoint::signal(uint32_t rank, const Signal& record) {
  const bool compares = record.function == Function::compare_swap && record.op <= SignalOp::update64;
  Post answer;
  VcqLink* const link = ready(rank, compares ? 2 : 1, &answer);
  if (link == nullptr) return answer;
  if (compares) {
    answer = post_record(*link, {.value = record.compare, .tail = kCompare});
    if (answer.state != Post::State::done) return answer;
    if (link->window.full() || operations_.full()) return retry(Post::Reason::queue_full);
  }
  return post_record(*link, record_of(record));
}

Post UtofuEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                               const Signal& record, bool* signalled) {
  if (length > kPiggyback || !fits_immediate(record))
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Post answer = put_with_immediate(rank, source, offset, length, record.offset);
  *signalled = answer.state == Post::State::done;
  if (answer.state == Post::State::pending)
    answer.state = Post::State::done;  // the data are in the command
  return answer;
}

// Two commands: the commonest post and no more. Most ask for no notice, but leave it to one of those that follow in order;
// if none does and somebody waits, to Connections::settle().
Post UtofuEndpoint::put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                       std::size_t length, uint64_t flag) {
  VcqLink* const link = connections_.find(rank);
  if (link == nullptr || link->sent >= link->limit || link->window.full() ||
      (length != 0 && !link->aim.covers(offset, length, segment_version_))) [[unlikely]]
    return prepare_put_with_immediate(rank, source, offset, length, flag);
  if (length != 0) {
    const int code = library_.put_piggyback(handle_, link->vcq, const_cast<void*>(source),
                                            link->aim.base + offset, length, 0, kPut, report_to(*link));
    if (code != UTOFU_SUCCESS) [[unlikely]]
      return refused(code, *link);
  }
  const Record record{.offset = flag, .value = 1, .tail = kAddOne};
  if (link->unnoticed >= kUnnoticed) [[unlikely]] {
    if (operations_.full()) return alone(*link, length, retry(Post::Reason::queue_full));
    return alone(*link, length, post_record(*link, record));
  }
  const int code = put_record(*link, record, 0, kPut, report_to(*link));
  if (code != UTOFU_SUCCESS) [[unlikely]]
    return alone(*link, length, refused(code, *link));
  ++link->sent;
  return {.ticket = operations_.issue_unnoticed(*link)};
}

// The answer to put_with_immediate() where that is the record's: data for which there was room, before a record for which there
// was none, are under way.
[[gnu::noinline]] Post UtofuEndpoint::alone(VcqLink& link, std::size_t length, const Post& record) {
  if (length == 0 || record.state != Post::State::retry || !link.sends()) return record;
  return {.state = Post::State::pending, .ticket = operations_.issue_unnoticed(link)};
}

// Until put_with_immediate() can post.
[[gnu::noinline]] Post UtofuEndpoint::prepare_put_with_immediate(uint32_t rank, const void* source,
                                                                 uint64_t offset, std::size_t length,
                                                                 uint64_t flag) {
  Post answer;
  VcqLink* const link = ready(rank, 1, &answer);
  if (link == nullptr || (length != 0 && !aim(*link, offset, length, &answer))) return answer;
  return put_with_immediate(rank, source, offset, length, flag);
}

// `number`: of the operation, if there is one.
inline int UtofuEndpoint::put_record(const VcqLink& link, Record record, uint8_t number,
                                     unsigned long flags, void* report) {
  record.tail |= Record::numbered(link.sent + 1);
  return library_.put_piggyback(handle_, link.vcq, &record,
                                link.ring + link.sent % kRing * sizeof record, sizeof record, number,
                                flags, report);
}

// There must be room for it, and an operation.
Post UtofuEndpoint::post_record(VcqLink& link, const Record& record) {
  VcqOperation& operation = operations_.take(link);
  const int code = put_record(link, record, operation.number, kPut | kNotice, report_to(operation));
  if (code == UTOFU_SUCCESS) ++link.sent;
  return answer_to(code, link, operation, Post::State::done);
}

// The connection to `rank` if an operation with so many records can be posted on it, else null and the answer to give.
VcqLink* UtofuEndpoint::ready(uint32_t rank, uint64_t records, Post* answer) {
  VcqLink* const link = sending(connections_.use(rank), answer);
  if (link == nullptr) return nullptr;
  if (link->window.full() || operations_.full() || (records != 0 && connections_.room(*link) < records))
      [[unlikely]] {
    *answer = retry(Post::Reason::queue_full);
    return nullptr;
  }
  return link;
}

// Lets link.aim cover a place at the other side, whose steering address is computed.
bool UtofuEndpoint::aim(VcqLink& link, uint64_t offset, std::size_t length, Post* answer) {
  if (link.aim.covers(offset, length, segment_version_)) [[likely]]
    return true;
  const uint64_t version = segment_version_;
  const int place = shared_.segment->find(offset, length, link.region);
  if (place == SegmentRegions::kNone) return aim_at_local(link, offset, length, answer);
  link.region = place;
  const uint64_t begin = shared_.segment->begin(place);
  const unsigned stag = kSegmentStag + static_cast<unsigned>(place);
  link.aim = {.begin = begin,
              .length = shared_.segment->end(place) - begin,
              .version = version,
              .base = stadd_of(*shared_.library, link.vcq, stag) - begin};
  return true;
}

// The same of memory that the peer has taken alone. An operation that begins in a piece goes by its number, also beyond its end;
// what is remembered ends there, since another area may begin.
bool UtofuEndpoint::aim_at_local(VcqLink& link, uint64_t offset, std::size_t length, Post* answer) {
  const uint64_t piece = offset / shared_.local_piece;
  if (piece >= kLocalPieces || length > shared_.job->capacity - offset) {
    *answer = {.state = Post::State::failed,
               .code = fail(OMPL_ERR_OFFSET, "{} bytes at {:#x} of rank {} are not in its segment",
                            length, offset, link.rank)};
    return false;
  }
  const uint64_t begin = piece * shared_.local_piece;
  const unsigned stag = kLocalStag + static_cast<unsigned>(piece);
  link.aim = {.begin = begin,
              .length = shared_.local_piece,
              .version = segment_version_,
              .base = stadd_of(*shared_.library, link.vcq, stag) - begin};
  return true;
}

// The steering address of local memory: of a bounce slot while there is one, so that the caller of a put need not wait for
// the other side; of registered memory; or registered for this.
bool UtofuEndpoint::load(const void* memory, std::size_t length, bool read, VcqOperation* operation,
                         utofu_stadd_t* local, Post* answer) {
  const bool small = length <= kBounce;
  if (read && find_region(memory, length, local)) return true;
  if (small && !bounces_.empty()) {
    operation->bounce = bounces_.back();
    operation->holds = true;
    bounces_.pop_back();
    *local = bounce_memory_.stadd() + operation->bounce * kBounce;
    return true;
  }
  if (!read && find_region(memory, length, local)) return true;
  if (small) {
    *answer = retry(Post::Reason::no_memory);
    return false;
  }
  const int code = operation->memory.open(vcq_, memory, length);
  if (code == UTOFU_SUCCESS) {
    operation->holds = true;
    *local = operation->memory.stadd();
    return true;
  }
  *answer = {
      .state = Post::State::failed,
      .code = fail(OMPL_ERR_MEMORY,
                   "uTofu cannot register {} bytes at {} for a put or get: {} ({}); use memory of "
                   "the segment",
                   length, memory, text_of(code), code)};
  return false;
}

bool UtofuEndpoint::find_region(const void* memory, std::size_t length, utofu_stadd_t* local) {
  const auto address = reinterpret_cast<uint64_t>(memory);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(shared_.job->segment);
  if (offset < shared_.job->capacity) {
    const int place = shared_.segment->find(offset, length, source_region_);
    if (place == SegmentRegions::kNone) {
      const int area = shared_.local->find(offset, length, 0);
      if (area == LocalRegions::kNone) return false;
      const uint64_t begin = shared_.local->begin(area);
      const auto piece = static_cast<unsigned>(begin / shared_.local_piece);
      *local = stadd_of(*shared_.library, vcq_.id(), kLocalStag + piece) + (offset - begin);
      return true;
    }
    source_region_ = place;
    *local = stadd_of(*shared_.library, vcq_.id(), kSegmentStag + static_cast<unsigned>(place)) +
             (offset - shared_.segment->begin(place));
    return true;
  }
  const int place = shared_.program->find(address, length, 0);
  if (place == ProgramRegions::kNone) return false;
  const uint64_t begin = shared_.program->begin(place) / kAlignment * kAlignment;
  *local = stadd_of(*shared_.library, vcq_.id(), kProgramStag + static_cast<unsigned>(place)) +
           (address - begin);
  return true;
}

Post UtofuEndpoint::answer_to(int code, VcqLink& link, VcqOperation& operation, Post::State state) {
  if (code == UTOFU_SUCCESS) [[likely]] {
    operations_.issue(operation);
    return {.state = state, .ticket = operation.ticket};
  }
  release(operation);
  return refused(code, link);
}

// A command that finds no room is posted again once the reports of others are taken.
Post UtofuEndpoint::refused(int code, VcqLink& link) {
  if (code == UTOFU_ERR_BUSY) {
    take_reports();
    return retry(Post::Reason::queue_full);
  }
  connections_.lost(link, code);
  return refusal(link);
}

void UtofuEndpoint::release(VcqOperation& operation) {
  if (operation.bounce != VcqOperation::kNoBounce) {
    bounces_.push_back(operation.bounce);
    operation.bounce = VcqOperation::kNoBounce;
  }
  operation.holds = false;
  operation.target = nullptr;
  operation.memory = {};
  operations_.give_back(operation);
}

// --- State ---------------------------------------------------------------------------------------------

std::string UtofuEndpoint::describe() const {
  return fmt::format("TNI {}, {} of {} operations outstanding", vcq_.tni(), operations_.outstanding(),
                     VcqOperationPool::kCount);
}

}  // namespace ompl::conduit::utofu
