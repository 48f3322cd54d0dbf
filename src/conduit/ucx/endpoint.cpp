// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/endpoint.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/common/doorkeeper.hpp"
#include "conduit/common/ip_address.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {
namespace {

constexpr std::size_t kMostCopied = 8192;  // bytes; see README.md
constexpr int64_t kGoodbyeMs = 100;
constexpr uint32_t kIdlePerLook = 64;
constexpr uint32_t kTurnsPerIdle = 16;

}  // namespace

UcxEndpoint::UcxEndpoint(const SharedState& shared, uint32_t slot)
    : shared_(shared), slot_(slot), connections_(shared, slot) {}

int UcxEndpoint::open(const std::vector<std::unique_ptr<UcpContext>>& contexts,
                      std::vector<WorkerAddresses>* networks) {
  std::vector<ucp_worker_h> handles;
  std::size_t one_piece = kMostCopied;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    if (const int code = open_worker(*contexts[i], &(*networks)[i]); code != OMPL_OK) return code;
    handles.push_back(workers_.back()->get());
    one_piece = std::min(one_piece, workers_.back()->one_piece());
  }
  busy_.assign(workers_.size(), false);
  connections_.open(std::move(handles));
  copy_limit_ = one_piece - sizeof(Message);
  return workers_.size() > 1 ? open_set() : OMPL_OK;
}

int UcxEndpoint::open_worker(const UcpContext& context, WorkerAddresses* network) {
  const std::set<uint16_t> before = listening_ports();
  auto worker = std::make_unique<Worker>(*shared_.library);
  if (const int code = worker->open(context, on_message, this); code != OMPL_OK) return code;
  uint16_t found = 0;
  for (const uint16_t port : listening_ports()) {
    // Another thread of the program may open a listener at the same time: UCX's ports stand in its address.
    const uint16_t sent = htons(port);
    const std::string_view text(reinterpret_cast<const char*>(&sent), sizeof sent);
    if (before.contains(port) || worker->address().find(text) == std::string::npos) continue;
    connections_.listens_at(port);
    found = port;
  }
  // UCX may have taken another family's address, if it does not know of the setting.
  if (!is_loopback(network->ip) && worker->address().find(network->ip) == std::string::npos) found = 0;
  network->slots.push_back(worker->address());
  network->ports.push_back(network->ip.empty() ? 0 : found);
  workers_.push_back(std::move(worker));
  return OMPL_OK;
}

int UcxEndpoint::open_set() {
  set_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (const auto& worker : workers_) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (set_ < 0 || ::epoll_ctl(set_, EPOLL_CTL_ADD, worker->descriptor(), &readable) != 0)
      return fail(OMPL_ERR_SYSTEM, "a set of descriptors cannot be made: {}", error_text(errno));
  }
  return OMPL_OK;
}

UcxEndpoint::~UcxEndpoint() {
  if (busy_.empty()) return;  // it was never open
  const int64_t limit = arch::now_ms() + kGoodbyeMs;
  drain(*this, limit, [this] { return parted(); });
  while (connections_.close() > 0 && arch::now_ms() < limit + kGoodbyeMs) {
    for (const auto& worker : workers_) shared_.library->worker_progress(worker->get());
  }
  connections_.drop_keys();
  workers_.clear();
  if (set_ >= 0) ::close(set_);
}

// Tells the others that this end is meant; true once they have said so too: they have then read what was sent
// last. A socket closed earlier may reset its connection and take that with it.
bool UcxEndpoint::parted() {
  bool all = operations_.outstanding() == 0;
  for (const auto& link : connections_.all()) {
    if (link->up() && !link->goodbye_said)
      link->goodbye_said = send(*link, {.op = kGoodbye}).state == Post::State::done;
    all = all && (!link->connecting() || link->departed) &&
          (!link->up() || (link->departed && link->goodbye_said));
  }
  return all;
}

// --- Posting -------------------------------------------------------------------------------------------

// Small data go as a message: messages of one piece use one lane and arrive in order, so that a signal needs
// no flush after them.
Post UcxEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  UcpLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  if (length <= copy_limit_) return send(*link, {.token = offset, .op = kDataOnly}, {source, length});
  ucp_request_param_t params;
  UcpOperation* operation = begin(*link, &params);
  if (operation == nullptr) return retry(Post::Reason::queue_full);
  ++link->puts;
  const uint64_t to = (*shared_.peers)[rank].base + offset;
  return end(operation,
             shared_.library->put_nbx(link->endpoint, source, length, to, link->key, &params), true);
}

Post UcxEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  UcpLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  ucp_request_param_t params;
  UcpOperation* operation = begin(*link, &params);
  if (operation == nullptr) return retry(Post::Reason::queue_full);
  const uint64_t from = (*shared_.peers)[rank].base + offset;
  return end(operation,
             shared_.library->get_nbx(link->endpoint, target, length, from, link->key, &params), true);
}

Post UcxEndpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  UcpLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  return send_record(*link, to_message<Message>(record), {}, link->short_works);
}

Post UcxEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                             const Signal& record, bool* signalled) {
  if (length > copy_limit_ || record.token != 0)
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Post answer;
  UcpLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  Message message = to_message<Message>(record);
  message.token = offset;
  const bool at_once = link->short_works && length <= std::tuple_size_v<decltype(UcpOperation::data)>;
  answer = send_record(*link, message, {source, length}, at_once);
  *signalled = is_posted(answer);
  if (at_once && !*signalled)  // both at once may be too long
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  return answer;
}

// After the puts that UCX may send another way have arrived [7].
Post UcxEndpoint::send_record(UcpLink& link, Message message, Payload data, bool at_once) {
  if (!connections_.flushed(link)) return retry(Post::Reason::queue_full);
  return send(link, message, data, at_once);
}

// A record that UCX took but has not sent would go out only with progress that this rank need not make any
// more. So it is sent at once or refused, where that works, alone or with a small put.
Post UcxEndpoint::send(UcpLink& link, Message message, Payload data, bool at_once) {
  ucp_request_param_t params;
  UcpOperation* operation = begin(link, &params);
  if (operation == nullptr) return retry(Post::Reason::queue_full);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  message.cookie = link.hello.cookie;
  message.source = shared_.job->rank;
  operation->message = message;
  const bool copied = !at_once && data.length <= operation->data.size();
  if (copied) {
    std::copy_n(static_cast<const std::byte*>(data.source), data.length, operation->data.data());
    data.source = operation->data.data();
  }
  if (at_once) params.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  const ucs_status_ptr_t result =
      shared_.library->am_send_nbx(link.endpoint, kMessageId, &operation->message, sizeof message,
                                   data.source, data.length, &params);
  if (at_once && UCS_PTR_RAW_STATUS(result) == UCS_ERR_NO_RESOURCE) {
    operations_.give_back(operation);
    return retry(Post::Reason::queue_full);
  }
  return end(operation, result, !copied);
}

// Null: the queue is full.
UcpOperation* UcxEndpoint::begin(UcpLink& link, ucp_request_param_t* params) {
  if (link.window.full()) return nullptr;
  UcpOperation* operation = operations_.take();
  if (operation == nullptr) return nullptr;
  operation->endpoint = this;
  operation->link = &link;
  operation->ticket = 0;
  params->op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params->cb.send = on_sent;
  params->user_data = operation;
  params->memory_type = UCS_MEMORY_TYPE_HOST;
  return operation;
}

// The answer to a request that begin() prepared. `in_use`: the caller's memory is, until it is complete.
Post UcxEndpoint::end(UcpOperation* operation, ucs_status_ptr_t result, bool in_use) {
  UcpLink& link = *operation->link;
  if (UCS_PTR_IS_PTR(result)) {
    if (!in_use) return {};
    operation->ticket = link.window.issue();
    return {.state = Post::State::pending, .ticket = operation->ticket};
  }
  operations_.give_back(operation);
  if (result == nullptr) return {};
  connections_.lost(link, UCS_PTR_STATUS(result));
  return refusal(link);
}

void UcxEndpoint::on_sent(void* request, ucs_status_t status, void* argument) {
  auto* operation = static_cast<UcpOperation*>(argument);
  UcxEndpoint& self = *operation->endpoint;
  // After a failure the whole link's operations complete at once, see Connections::fail().
  if (status == UCS_OK && operation->ticket != 0) {
    operation->link->window.complete(operation->ticket);
    self.connections_.part_if_idle(*operation->link);
  }
  self.operations_.give_back(operation);
  self.shared_.library->request_free(request);
  ++self.taken_;
}

// --- Progress ------------------------------------------------------------------------------------------

int UcxEndpoint::progress(Sink& sink, int budget) {
  sink_ = &sink;
  taken_ = 0;
  int active = 0;
  for (unsigned found = 1; found > 0 && std::max(active, taken_) < budget;) {
    found = progress_workers();
    active += static_cast<int>(found);
  }
  sink_ = nullptr;
  const int moved = std::max(active, taken_) + connections_.progress();
  if (moved == 0 && ++idle_ % kIdlePerLook == 0) connections_.look_at_strangers();
  return moved;
}

// Those that nothing has come in by are looked at less often: each costs a system call.
unsigned UcxEndpoint::progress_workers() {
  if (workers_.size() == 1) return shared_.library->worker_progress(workers_.front()->get());
  unsigned found = 0;
  const bool all =
      std::exchange(armed_, false) || turns_++ % kTurnsPerIdle == 0 || connections_.troubled();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!all && !busy_[i]) continue;
    const unsigned active = shared_.library->worker_progress(workers_[i]->get());
    if (active > 0) busy_[i] = true;
    found += active;
  }
  return found;
}

ucs_status_t UcxEndpoint::on_message(void* argument, const void* header, std::size_t header_length,
                                     void* data, std::size_t length, const ucp_am_recv_param_t* param) {
  UcxEndpoint& self = *static_cast<UcxEndpoint*>(argument);
  Message message;
  const bool whole =
      header_length == sizeof message && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (whole) std::memcpy(&message, header, sizeof message);
  if (whole && self.take_in(message, {data, length})) {
    ++self.taken_;
  } else if (!std::exchange(self.warned_, true)) {
    log::warn("ucx: dropped a message that does not belong to this job");
  }
  return UCS_OK;
}

// False: not of this job.
bool UcxEndpoint::take_in(const Message& message, Payload data) {
  const Job& job = *shared_.job;
  if (message.source >= job.size || message.cookie != shared_.cookies[message.source]) return false;
  if (data.length > 0) {
    if (message.token > job.capacity || data.length > job.capacity - message.token) return false;
    std::memcpy(job.segment + message.token, data.source, data.length);
  }
  if (message.op == kGoodbye) {
    connections_.said_goodbye(message.source);
    return true;
  }
  connections_.met(message.source);
  if (message.op < kHello && sink_ != nullptr) {
    Signal record = from_message(message);
    if (data.length > 0) record.token = 0;
    sink_->signal(message.source, record);
  }
  return true;
}

// --- State ---------------------------------------------------------------------------------------------

bool UcxEndpoint::arm() {
  if (connections_.troubled()) return false;
  armed_ = true;  // UCX forgets an event once it has told of it here: each worker then needs progress
  return std::ranges::all_of(workers_, [this](const std::unique_ptr<Worker>& worker) {
    return shared_.library->worker_arm(worker->get()) == UCS_OK;
  });
}

// For a rank whose failure() is not OMPL_OK.
std::string UcxEndpoint::reason(uint32_t rank) const { return find_link(rank)->why; }

std::string UcxEndpoint::describe() const {
  return fmt::format("{}, {} of {} operations outstanding", connections_.describe(),
                     operations_.outstanding(), operations_.kCount);
}

}  // namespace ompl::conduit::ucx
