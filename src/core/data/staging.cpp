// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/staging.hpp"

#include <algorithm>

#include "core/calls/scope.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"

namespace ompl {
namespace {

constexpr std::size_t kMostParts = 4096;  // of a chunk

// Cuts pieces into parts that fill a chunk.
class Batches {
 public:
  Batches(const Sender::Pieces& pieces, std::size_t room) : pieces_(pieces), room_(room) {}

  // The next ones, to lie at `host`; false: there are no more.
  bool fill(std::byte* host, std::vector<StagedPart>* parts) {
    parts->clear();
    std::size_t used = 0;
    while (used < room_ && parts->size() < kMostParts) {
      if (rest_.length == 0 && !pieces_(&rest_)) break;
      const std::size_t length = std::min(rest_.length, room_ - used);
      parts->push_back({.device = reinterpret_cast<uintptr_t>(rest_.local),
                        .host = host + used,
                        .offset = rest_.offset,
                        .length = length});
      rest_ = {rest_.local + length, rest_.offset + length, rest_.length - length};
      used += length;
    }
    return used != 0;
  }

 private:
  const Sender::Pieces& pieces_;
  const std::size_t room_;
  Sender::Piece rest_;
};

bool is_retry(int code) { return code > OMPL_PENDING; }

}  // namespace

Sender::Pieces single_piece(const void* local, uint64_t offset, std::size_t length) {
  auto* const memory = static_cast<std::byte*>(const_cast<void*>(local));
  return [memory, offset, length, more = true](Sender::Piece* piece) mutable {
    if (!std::exchange(more, false)) return false;
    *piece = {memory, offset, length};
    return true;
  };
}

// A buffer for the time of a call. If the call does not return, since the yield hook ended its thread, it is never used again.
class Staging::Lease {
 public:
  explicit Lease(Staging& staging) : staging_(staging) {}
  ~Lease() {
    if (buffer_ != nullptr) staging_.pool_.give_back(*buffer_, returned_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  int take(const void* device, bool nonblocking, const char* what) {
    Network* const network = staging_.runtime_.network.get();
    const auto has_read = [network](const Handle& reader) {
      return network == nullptr || network->completion.test_source(reader) != 0;
    };
    return staging_.pool_.take(device, nonblocking, has_read, what, &buffer_);
  }
  [[nodiscard]] StagingBuffer& buffer() const { return *buffer_; }
  // Passes on the outcome of what used the buffer.
  int after(int code) {
    returned_ = true;
    return code;
  }

 private:
  Staging& staging_;
  StagingBuffer* buffer_ = nullptr;
  bool returned_ = false;
};

struct Staging::Route {
  StagingBuffer& buffer;
  uint32_t rank;
  const Sender::Pieces& pieces;
  const char* what;
};

// Between a chunk and the other rank's segment, until the chunk may be used again.
int Staging::travel(Context& c, const Route& route, Call call, std::span<const StagedPart> parts,
                    Deadline deadline, bool more, bool begun) {
  if (std::byte* const base = c.bases[route.rank]; base != nullptr) {
    for (const StagedPart& part : parts) {
      std::byte* const there = base + part.offset;
      arch::copy(call == Call::get ? part.host : there, call == Call::get ? there : part.host,
                 part.length);
    }
    return OMPL_OK;
  }
  Caller caller(c);
  const Sender::Pieces pieces = [parts, at = std::size_t{0}](Sender::Piece* piece) mutable {
    if (at == parts.size()) return false;
    *piece = {parts[at].host, parts[at].offset, parts[at].length};
    ++at;
    return true;
  };
  const int code =
      runtime_.network->sender.transfer(c, call, route.rank, pieces, deadline, more, begun);
  if (code != OMPL_PENDING) return code;
  return runtime_.network->completion.flush(caller.now(), route.rank, Deadline::never());
}

int Staging::put(Caller& caller, Route& route, Deadline deadline, bool signal_follows) {
  StagingBuffer& buffer = route.buffer;
  Batches batches(route.pieces, pool_.chunk());
  std::array<std::vector<StagedPart>, 2> parts;
  const auto begin = [&](unsigned k, bool* more) {
    *more = batches.fill(buffer.chunks[k].memory, &parts[k]);
    return *more ? pool_.begin(buffer, buffer.chunks[k], parts[k], StagingPool::Copy::out, route.what)
                 : int{OMPL_OK};
  };
  bool more = false;
  int code = begin(0, &more);
  for (unsigned k = 0; more && code == OMPL_OK; k ^= 1) {
    const bool begun = !parts[k ^ 1].empty();
    code = pool_.finish(buffer, buffer.chunks[k], route.what);
    if (code == OMPL_OK) code = begin(k ^ 1, &more);
    if (code == OMPL_OK)
      code = travel(caller.now(), route, Call::put, parts[k], begun ? Deadline::never() : deadline,
                    signal_follows || more, begun);
  }
  return code;
}

int Staging::get(Caller& caller, Route& route, Deadline deadline) {
  StagingBuffer& buffer = route.buffer;
  Batches batches(route.pieces, pool_.chunk());
  std::vector<StagedPart> parts;
  int code = OMPL_OK;
  bool begun = false;
  for (unsigned k = 0; code == OMPL_OK; k ^= 1) {
    StagingChunk& chunk = buffer.chunks[k];
    code = pool_.finish(buffer, chunk, route.what);
    if (code != OMPL_OK || !batches.fill(chunk.memory, &parts)) break;
    code = travel(caller.now(), route, Call::get, parts, begun ? Deadline::never() : deadline, true,
                  begun);
    if (code == OMPL_OK) code = pool_.begin(buffer, chunk, parts, StagingPool::Copy::in, route.what);
    begun = true;
  }
  for (StagingChunk& chunk : buffer.chunks) {
    if (code == OMPL_OK) code = pool_.finish(buffer, chunk, route.what);
  }
  return code;
}

int Staging::transfer(Context& c, Call call, const void* local, uint32_t rank,
                      const Sender::Pieces& pieces, std::size_t bytes, const Signal* record,
                      Deadline deadline) {
  const bool is_get = call == Call::get;
  const char* const what = is_get ? "a get into memory of a GPU" : "a put from memory of a GPU";
  const bool mapped = c.bases[rank] != nullptr;
  if (is_get && !mapped) {
    if (const int code = calls::may_wait(what); code != OMPL_OK) return code;
  }
  Caller caller(c);
  {
    Lease lease(*this);
    if (const int code = lease.take(local, false, what); code != OMPL_OK) return code;
    Route route{.buffer = lease.buffer(), .rank = rank, .pieces = pieces, .what = what};
    const int code = lease.after(is_get ? get(caller, route, deadline)
                                        : put(caller, route, deadline, record != nullptr));
    if (code != OMPL_OK) return code;
  }
  Context& now = caller.now();
  is_get ? now.count_get(bytes) : now.count_put(bytes, record != nullptr);
  if (record == nullptr) return OMPL_OK;
  if (mapped) return signal_any(now, rank, *record, Deadline::never());
  return runtime_.network->sender.signal_after(caller, rank, *record, OMPL_OK);
}

// Until a put of this call has read the chunk. Its task stays in this thread: more follows through the same context.
int Staging::await_reader(Caller& caller, const StagingChunk& chunk, uint32_t rank) {
  const Blocked blocked{.call = Call::put, .peer = rank, .keeps_thread = true};
  return Blocker(caller.now(), blocked, Deadline::never()).run([&] {
    return runtime_.network->completion.test_source(chunk.reader);
  });
}

int Staging::post_pieces(Caller& caller, Route& route, const void* source, uint64_t offset,
                         std::size_t length, const Signal* record) {
  const auto from = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(source));
  std::size_t moved = 0;
  for (unsigned k = 0; moved < length; k ^= 1) {
    StagingChunk& chunk = route.buffer.chunks[k];
    int code = await_reader(caller, chunk, route.rank);
    if (code != OMPL_OK) return code;
    const StagedPart part{.device = from + moved,
                          .host = chunk.memory,
                          .offset = offset + moved,
                          .length = std::min(length - moved, pool_.chunk())};
    code = pool_.begin(route.buffer, chunk, {&part, 1}, StagingPool::Copy::out, route.what);
    if (code == OMPL_OK) code = pool_.finish(route.buffer, chunk, route.what);
    if (code != OMPL_OK) return code;
    const Signal* const follows = moved + part.length == length ? record : nullptr;
    const auto post = [&](Context& by) {
      return runtime_.network->sender.put_nb(by, part.host, route.rank, part.offset, part.length,
                                             follows, false, &chunk.reader);
    };
    code = post(caller.now());
    if (moved != 0 && is_retry(code)) {
      const Blocked blocked{.call = Call::put, .peer = route.rank, .keeps_thread = true};
      Blocker blocker(caller.now(), blocked, Deadline::never());
      const int waited = blocker.run([&] {
        code = post(blocker.context());
        if (code == OMPL_RETRY_BUSY) blocker.stay_awake();
        return is_retry(code) ? 0 : code < OMPL_OK ? code : 1;
      });
      if (waited != OMPL_OK) return waited;
    }
    if (code != OMPL_OK && code != OMPL_PENDING) return code;
    moved += part.length;
  }
  return OMPL_PENDING;
}

int Staging::put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                    const Signal* record, bool local, Handle* handle) {
  const Sender::Pieces one = single_piece(source, offset, length);
  if (c.bases[rank] != nullptr) {
    const int code = transfer(c, Call::put, source, rank, one, length, record, Deadline::never());
    if (code == OMPL_OK && handle != nullptr) handle->kind = Pending::Kind::none;
    return code;
  }
  constexpr const char* kWhat = "a nonblocking put from memory of a GPU";
  Caller caller(c);
  Lease lease(*this);
  if (const int code = lease.take(source, true, kWhat); code != OMPL_OK) return code;
  Route route{.buffer = lease.buffer(), .rank = rank, .pieces = one, .what = kWhat};
  const int code = lease.after(post_pieces(caller, route, source, offset, length, record));
  if (code != OMPL_PENDING) return code;
  caller.now().count_put(length, record != nullptr);
  if (handle == nullptr) return OMPL_OK;
  const std::size_t last = (length - 1) / pool_.chunk() % route.buffer.chunks.size();
  *handle = route.buffer.chunks[last].reader;
  if (!local) return OMPL_PENDING;
  handle->kind = Pending::Kind::none;  // the source has been read
  return OMPL_OK;
}

int Staging::get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                    Handle* handle) {
  const Sender::Pieces one = single_piece(target, offset, length);
  const int code = transfer(c, Call::get, target, rank, one, length, nullptr, Deadline::never());
  if (code == OMPL_OK && handle != nullptr) handle->kind = Pending::Kind::none;
  return code;
}

}  // namespace ompl
