// SPDX-License-Identifier: BSD-3-Clause
// uTofu's objects behind the pool: a virtual control queue (VCQ) per slot, memory registered with it, and what all
// endpoints of a rank share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conduit/common/regions.hpp"
#include "conduit/conduit.hpp"
#include "conduit/utofu/address.hpp"
#include "conduit/utofu/library.hpp"
#include "util/status.hpp"

namespace ompl::conduit::utofu {

// Memory is registered from such an address on.
inline constexpr std::size_t kAlignment = 256;

// Numbers (STags) under which memory is registered, the same with every VCQ of every rank: from VCQ and number anyone
// computes the steering address. uTofu leaves 256 of them to its users.
inline constexpr unsigned kBoardStag = 0;
inline constexpr unsigned kSegmentStag = 1;
inline constexpr int kSegmentRegions = 159;
// Local memory, which peers are not told of: the segment is divided into so many pieces, and an area has the number of each
// piece in which it lies, for what is from the beginning of that piece on.
inline constexpr unsigned kLocalStag = kSegmentStag + kSegmentRegions;
inline constexpr int kLocalPieces = 32;
inline constexpr unsigned kProgramStag = kLocalStag + kLocalPieces;
inline constexpr int kProgramRegions = 64;

class Vcq {
 public:
  explicit Vcq(const Library& library) : library_(library) {}
  ~Vcq();
  Vcq(const Vcq&) = delete;
  Vcq& operator=(const Vcq&) = delete;

  // On the first of the TNIs, from place `first` on, that has room. Alone on its control queue where there is one
  // left. Always thread-safe: memory is registered by one thread while others post.
  int open(const std::vector<utofu_tni_id_t>& tnis, std::size_t first);
  [[nodiscard]] utofu_vcq_hdl_t handle() const { return handle_; }
  [[nodiscard]] utofu_vcq_id_t id() const { return id_; }
  [[nodiscard]] utofu_tni_id_t tni() const { return tni_; }
  [[nodiscard]] const Library& library() const { return library_; }

 private:
  const Library& library_;
  utofu_vcq_hdl_t handle_ = 0;
  utofu_vcq_id_t id_ = 0;
  utofu_tni_id_t tni_ = 0;
};

// Memory registered with a VCQ, until it goes.
class Registered {
 public:
  Registered() = default;
  ~Registered() { drop(); }
  Registered(Registered&& other) noexcept
      : vcq_(std::exchange(other.vcq_, nullptr)), stadd_(other.stadd_), skipped_(other.skipped_) {}
  Registered& operator=(Registered&& other) noexcept {
    drop();
    vcq_ = std::exchange(other.vcq_, nullptr);
    stadd_ = other.stadd_;
    skipped_ = other.skipped_;
    return *this;
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  // A UTOFU_ code. Registered is from `memory`, or the multiple of kAlignment before it. Without an stag uTofu
  // chooses one.
  int open(const Vcq& vcq, const void* memory, std::size_t length, std::optional<unsigned> stag = {});
  // The steering address of `memory`.
  [[nodiscard]] utofu_stadd_t stadd() const { return stadd_ + skipped_; }

 private:
  void drop();
  const Vcq* vcq_ = nullptr;
  utofu_stadd_t stadd_ = 0;
  std::size_t skipped_ = 0;
};

// Memory of our own that the interconnect writes to or reads from; zero at first.
class Pages {
 public:
  Pages() = default;
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  int open(std::size_t length);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

using SegmentRegions = RegionTable<std::vector<Registered>, kSegmentRegions>;  // by offset
using LocalRegions = RegionTable<std::vector<Registered>, kLocalPieces>;       // the same
using ProgramRegions =
    RegionTable<std::vector<Registered>, kProgramRegions>;  // by address: ompl_register()

// What all endpoints of a rank share.
struct SharedState {
  const Library* library = nullptr;
  const Job* job = nullptr;
  const std::vector<Address>* peers = nullptr;  // by rank; without slots if another conduit reaches it
  const SegmentRegions* segment = nullptr;
  const LocalRegions* local = nullptr;
  const ProgramRegions* program = nullptr;
  uint64_t local_piece = 0;       // bytes
  std::vector<uint64_t> cookies;  // by rank: what its greetings carry
};

// The steering address that memory of that number has with that VCQ.
inline utofu_stadd_t stadd_of(const Library& library, utofu_vcq_id_t vcq, unsigned stag) {
  utofu_stadd_t stadd = 0;
  library.query_stadd(vcq, stag, &stadd);
  return stadd;
}

}  // namespace ompl::conduit::utofu
