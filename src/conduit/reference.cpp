// SPDX-License-Identifier: BSD-3-Clause
// The one reference implementation of what a conduit may leave out.
#include "conduit/conduit.hpp"
#include "util/status.hpp"

namespace ompl::conduit {

Post Endpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          const Signal& record, bool* signalled) {
  *signalled = false;
  const Post data = put(rank, source, offset, length);
  if (data.state == Post::State::retry || data.state == Post::State::failed) return data;
  *signalled = signal(rank, record).state == Post::State::done;
  return data;
}

Post Endpoint::put_with_immediate(uint32_t /*rank*/, const void* /*source*/, uint64_t /*offset*/,
                                  std::size_t /*length*/, uint64_t /*flag*/) {
  return {.state = Post::State::failed,
          .code = fail(OMPL_ERR_UNSUPPORTED, "this conduit joins no puts and signals")};
}

int Conduit::wake_descriptor(uint32_t /*rank*/, std::string_view /*address*/) { return -1; }

int Conduit::endpoint(uint32_t /*slot*/, std::unique_ptr<Endpoint>* /*out*/) {
  return fail(OMPL_ERR_UNSUPPORTED, "conduit {} has no endpoints", name());
}

int Conduit::commit(uint64_t /*offset*/, std::size_t /*length*/) { return OMPL_OK; }

void Conduit::release(uint64_t /*offset*/, std::size_t /*length*/) {}

int Conduit::commit_local(uint64_t offset, std::size_t length) { return commit(offset, length); }

void Conduit::release_local(uint64_t offset, std::size_t length) { release(offset, length); }

int Conduit::register_memory(const void* /*address*/, std::size_t /*length*/) { return OMPL_OK; }

void Conduit::unregister_memory(const void* /*address*/, std::size_t /*length*/) {}

}  // namespace ompl::conduit
