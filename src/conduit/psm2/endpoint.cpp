// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/psm2/endpoint.hpp"

#include <algorithm>
#include <array>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

constexpr int64_t kGoodbyeMs = 100;
constexpr int kGraceful = 0;
constexpr int64_t kCloseNs = 1'000'000'000;  // PSM2 takes no less
// Answers with data find room for so many in PSM2's shared memory; see kQueue in connections.cpp.
constexpr std::size_t kMostGets = 200;

}  // namespace

Psm2Endpoint::Psm2Endpoint(const SharedState& shared, uint32_t slot)
    : shared_(shared), library_(*shared.library), connections_(shared, slot) {}

int Psm2Endpoint::open(const PsmUuid& job, PsmEpid* number) {
  PsmOpened opened;
  if (const int code = library_.open(shared_.devices, job, &opened); code != OMPL_OK) return code;
  const std::array<PsmHandler, 2> handlers{on_request, on_reply};
  std::array<void*, 2> contexts{this, this};
  std::array<int, 2> numbers{-1, -1};
  const PsmError error = library_.am_register_handlers(opened.endpoint, handlers.data(), 2,
                                                       contexts.data(), numbers.data());
  const PsmMessageLimits& limits = opened.limits;
  if (error != kPsmOk || numbers != std::array{0, 1} || limits.max_arguments < kMostArguments)
    return fail(OMPL_ERR_UNSUPPORTED, "PSM2 gives no handlers of active messages: {}",
                library_.text_of(error));
  *number = opened.number;
  endpoint_ = opened.endpoint;
  max_data_ = std::min(limits.max_request, limits.max_reply) / 8 * 8;
  connections_.open(opened.endpoint);
  return OMPL_OK;
}

// psm2_ep_close() frees the table of handlers first and then progresses, so no message may come any more; and without hfi it
// crashes unless the endpoint was opened last. Others are left to the end of the process.
Psm2Endpoint::~Psm2Endpoint() {
  if (endpoint_ == nullptr) return;
  drain(*this, arch::now_ms() + kGoodbyeMs,
        [this] { return !connections_.is_away() && connections_.part(); });
  connections_.await_connector();
  if (shared_.devices == Devices::fabric && connections_.has_parted()) {
    library_.ep_close(endpoint_, kGraceful, kCloseNs);
  } else {
    log::debug("psm2: an endpoint is left open until the process ends");
  }
}

// --- Posting -------------------------------------------------------------------------------------------

// The link to `rank` if it can be posted on, else null and the answer to give.
Psm2Link* Psm2Endpoint::ready(uint32_t rank, Post* answer) {
  if (connections_.is_away()) [[unlikely]] {
    const Psm2Link* const known = find_link(rank);
    *answer = known != nullptr ? refusal(*known) : retry(Post::Reason::connecting);
    return nullptr;
  }
  Psm2Link* const link = sending(connections_.use(rank), answer);
  if (link == nullptr || !link->is_full()) [[likely]]
    return link;
  connections_.ask(*link);
  *answer = link->sends() ? retry(Post::Reason::queue_full) : refusal(*link);
  return nullptr;
}

// PSM2 copies the data. It may call handlers meanwhile, in which the link may break: what is outstanding then counts as complete,
// so the ticket is taken first.
Post Psm2Endpoint::send(Psm2Link& link, const Arguments& arguments, int count, const void* data,
                        std::size_t length) {
  const uint64_t ticket = link.window.issue();
  link.gets[ticket % link.gets.size()] = to_head(arguments[0]).op == kGet;
  const PsmError error =
      library_.am_request(link.address, 0, arguments.data(), count, data, length, 0, nullptr, nullptr);
  if (error != kPsmOk) [[unlikely]]
    connections_.lost(link, in_words([&] { return library_.text_of(error); }));
  if (link.failure != OMPL_OK) [[unlikely]]
    return refusal(link);
  return {.state = Post::State::done, .ticket = ticket};
}

Post Psm2Endpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  Psm2Link* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  return send(*link, {head_for(link->theirs, kPut), offset}, 2, source, length);
}

Post Psm2Endpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  Psm2Link* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  GetPool<Psm2Link>& gets = connections_.gets();
  if (gets.outstanding() >= kMostGets) return retry(Post::Reason::queue_full);
  auto* const operation = gets.take();
  operation->link = link;
  operation->target = static_cast<std::byte*>(target);
  operation->length = length;
  operation->ticket = link->window.next();
  answer = send(*link, {head_for(link->theirs, kGet), offset, gets.number_of(*operation), length}, 4);
  if (is_posted(answer))
    answer.state = Post::State::pending;  // else the link has failed, and with it its gets
  return answer;
}

Post Psm2Endpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  Psm2Link* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  const uint64_t head =
      head_for(link->theirs, static_cast<uint8_t>(record.op), static_cast<uint8_t>(record.function));
  const int count = record.function == Function::compare_swap ? 5 : record.token != 0 ? 4 : 3;
  return send(*link, {head, record.offset, record.value, record.token, record.compare}, count);
}

Post Psm2Endpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                              const Signal& record, bool* signalled) {
  if (length > max_data_ || record.token != 0 || record.function == Function::compare_swap)
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Post answer;
  Psm2Link* const link = ready(rank, &answer);
  *signalled = link != nullptr;
  if (link == nullptr) return answer;
  const uint64_t head =
      head_for(link->theirs, static_cast<uint8_t>(record.op), static_cast<uint8_t>(record.function));
  answer = length == 0 ? send(*link, {head, record.offset, record.value}, 3)
                       : send(*link, {head, record.offset, record.value, offset}, 4, source, length);
  *signalled = is_posted(answer);
  return answer;
}

Post Psm2Endpoint::put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                      std::size_t length, uint64_t flag) {
  bool signalled = false;
  return put_signal(rank, source, offset, length, {.offset = flag}, &signalled);
}

// --- State ---------------------------------------------------------------------------------------------

// Whoever looks may wait: the other side is asked then.
uint64_t Psm2Endpoint::completed(uint32_t rank) const {
  if (!awaited_.load(std::memory_order_relaxed)) awaited_.store(true, std::memory_order_relaxed);
  return LinkedEndpoint::completed(rank);
}

// For a rank of which loss() is not OMPL_OK.
std::string Psm2Endpoint::reason(uint32_t rank) const {
  const Psm2Link* const link = find_link(rank);
  const bool own = link != nullptr && link->failure != OMPL_OK;
  return own ? link->why : losses().why(rank);
}

std::string Psm2Endpoint::describe() const {
  return fmt::format("{}, {} of {} operations outstanding", connections_.describe(),
                     connections_.gets().outstanding(), kMostGets);
}

}  // namespace ompl::conduit::psm2
