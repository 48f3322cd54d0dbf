// SPDX-License-Identifier: BSD-3-Clause
#include "posts.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "conduit/verbs/resources.hpp"

namespace ompl::conformance {
namespace {

using conduit::verbs::Library;

struct Request {
  uint64_t number;
  bool bulk;
};

struct Pair {
  Posts posts;
  std::deque<Request> under_way;
};

std::mutex g_mutex;
std::map<uint32_t, Pair> g_pairs;
// Ranks are threads, each of which loads the library.
std::atomic<decltype(&::ibv_open_device)> g_open{nullptr};
std::atomic<decltype(ibv_context_ops::post_send)> g_post{nullptr};
std::atomic<decltype(ibv_context_ops::poll_cq)> g_poll{nullptr};

// A write of no bytes, or the read of a key.
bool is_own(const ibv_send_wr& work) {
  return work.next == nullptr && ((work.opcode == IBV_WR_RDMA_WRITE && work.num_sge == 0) ||
                                  (work.opcode == IBV_WR_RDMA_READ &&
                                   work.sg_list->length == sizeof(conduit::verbs::PublishedKey)));
}

void note(Pair& pair, const ibv_send_wr& work) {
  uint64_t bytes = 0;
  for (int i = 0; i < work.num_sge; ++i) bytes += work.sg_list[i].length;
  const bool bulk = bytes > Posts::kBulk;
  Posts& posts = pair.posts;
  posts.bulk += bulk ? 1 : 0;
  posts.bytes += bulk ? bytes : 0;
  posts.longest = std::max(posts.longest, bytes);
  posts.outstanding += bulk ? 1 : 0;
  posts.most = std::max(posts.most, posts.outstanding);
  pair.under_way.push_back({work.wr_id, bulk});
}

// Noted before it is posted: another thread may poll its completion at once.
int post(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  if (qp->qp_type == IBV_QPT_RC) {
    const std::lock_guard lock(g_mutex);
    Pair& pair = g_pairs[qp->qp_num];
    const bool own = is_own(*list);
    pair.posts.own += own ? 1 : 0;
    pair.posts.doorbells += own ? 0 : 1;
    for (const ibv_send_wr* work = list; work != nullptr; work = work->next) {
      pair.posts.requests += own ? 0 : 1;
      note(pair, *work);
    }
  }
  return g_post(qp, list, bad);
}

// A queue pair completes in order: with one request all before it.
void completed(const ibv_wc& completion) {
  if (completion.status == IBV_WC_SUCCESS && (completion.opcode & IBV_WC_RECV) != 0) return;
  const auto found = g_pairs.find(completion.qp_num);
  if (found == g_pairs.end()) return;
  auto& [posts, under_way] = found->second;
  const auto is_it = [&](const Request& request) { return request.number == completion.wr_id; };
  if (std::ranges::none_of(under_way, is_it)) return;
  for (bool last = false; !last; under_way.pop_front()) {
    last = is_it(under_way.front());
    posts.outstanding -= under_way.front().bulk ? 1 : 0;
  }
}

int poll(ibv_cq* queue, int most, ibv_wc* out) {
  const int count = g_poll.load()(queue, most, out);
  const std::lock_guard lock(g_mutex);
  for (int i = 0; i < count; ++i) completed(out[i]);
  return count;
}

ibv_context* open(ibv_device* device) {
  ibv_context* const context = g_open.load()(device);
  if (context == nullptr) return nullptr;
  const std::lock_guard lock(g_mutex);
  g_post = std::exchange(context->ops.post_send, post);
  g_poll = std::exchange(context->ops.poll_cq, poll);
  return context;
}

}  // namespace

Posts& Posts::operator+=(const Posts& more) {
  doorbells += more.doorbells;
  requests += more.requests;
  own += more.own;
  bytes += more.bytes;
  bulk += more.bulk;
  longest = std::max(longest, more.longest);
  outstanding += more.outstanding;
  most = std::max(most, more.most);
  return *this;
}

std::map<uint32_t, Posts> take_posts() {
  const std::lock_guard lock(g_mutex);
  std::map<uint32_t, Posts> taken;
  for (auto& [number, pair] : g_pairs) {
    const uint64_t outstanding = pair.posts.outstanding;
    const Posts posts = std::exchange(pair.posts, {.outstanding = outstanding, .most = outstanding});
    if (posts.requests > 0) taken[number] = posts;
  }
  return taken;
}

Posts take_all_posts() {
  Posts sum;
  for (const auto& [number, posts] : take_posts()) sum += posts;
  return sum;
}

// The linker lets these stand for Library::load() (--wrap).
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
int __real__ZN4ompl7conduit5verbs7Library4loadEPKc(Library*, const char*);
int __wrap__ZN4ompl7conduit5verbs7Library4loadEPKc(Library* library, const char* file);
int __wrap__ZN4ompl7conduit5verbs7Library4loadEPKc(Library* library, const char* file) {
  const int code = __real__ZN4ompl7conduit5verbs7Library4loadEPKc(library, file);
  const std::lock_guard lock(g_mutex);
  if (code == 0) g_open = std::exchange(library->open_device, open);
  return code;
}
// NOLINTEND(bugprone-reserved-identifier)
}

}  // namespace ompl::conformance
