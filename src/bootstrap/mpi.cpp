// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/mpi.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "arch/libraries/mpi.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

// MPI functions, found at run time. All of them have been in every MPI since 1.0.
template <class Handle>
struct Calls {
  int (*dup)(Handle, Handle*) = arch::MpiFunction{"MPI_Comm_dup"};
  int (*free)(Handle*) = arch::MpiFunction{"MPI_Comm_free"};
  int (*rank)(Handle, int*) = arch::MpiFunction{"MPI_Comm_rank"};
  int (*size)(Handle, int*) = arch::MpiFunction{"MPI_Comm_size"};
  int (*abort)(Handle, int) = arch::MpiFunction{"MPI_Abort"};
  int (*allgather)(const void*, int, Handle, void*, int, Handle,
                   Handle) = arch::MpiFunction{"MPI_Allgather"};
  int (*allgatherv)(const void*, int, Handle, void*, const int*, const int*, Handle,
                    Handle) = arch::MpiFunction{"MPI_Allgatherv"};

  [[nodiscard]] bool complete() const {
    return dup != nullptr && free != nullptr && rank != nullptr && size != nullptr &&
           abort != nullptr && allgather != nullptr && allgatherv != nullptr;
  }
};

// Published values travel as one byte string per rank and fence: (length, bytes) of key and value in
// turn.
void append_sized(std::string_view bytes, std::string* out) {
  const uint64_t length = bytes.size();
  out->append(reinterpret_cast<const char*>(&length), sizeof length);
  out->append(bytes);
}

std::string_view take_sized(std::string_view* in) {
  uint64_t length = 0;
  std::memcpy(&length, in->data(), sizeof length);
  const auto bytes = in->substr(sizeof length, length);
  in->remove_prefix(sizeof length + length);
  return bytes;
}

template <class Handle>
class Mpi final : public Bootstrap {
 public:
  int open() {
    if (!calls_.complete()) {
      return fail(OMPL_ERR_LAUNCH,
                  "the MPI library of this process lacks functions of MPI 1.0; "
                  "start with omplrun and OMPL_LAUNCHER=pmi1 instead");
    }
    int rank = 0;
    int size = 0;
    if (calls_.rank(abi_.world, &rank) != 0 || calls_.size(abi_.world, &size) != 0) {
      return fail(OMPL_ERR_LAUNCH, "MPI_Comm_rank of MPI_COMM_WORLD failed");
    }
    rank_ = static_cast<uint32_t>(rank);
    size_ = static_cast<uint32_t>(size);
    published_.resize(size_);
    return OMPL_OK;
  }

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] uint32_t rank() const override { return rank_; }
  [[nodiscard]] uint32_t size() const override { return size_; }
  [[nodiscard]] std::vector<uint32_t> node_map() const override { return {}; }

  int set(std::string_view key, std::string_view value) override {
    append_sized(key, &unpublished_);
    append_sized(value, &unpublished_);
    return OMPL_OK;
  }

  // On a communicator that is gone again afterwards: nothing is left to be freed before MPI_Finalize.
  int fence() override {
    Handle comm{};
    if (calls_.dup(abi_.world, &comm) != 0) {
      return fail(OMPL_ERR_LAUNCH, "MPI_Comm_dup of MPI_COMM_WORLD failed");
    }
    const int result = gather(comm);
    calls_.free(&comm);
    return result;
  }

  int get(uint32_t rank, std::string_view key, std::string* value) override {
    if (rank >= size_) return fail(OMPL_ERR_RANK, "rank {} of {} published nothing", rank, size_);
    const auto found = published_[rank].find(key);
    if (found == published_[rank].end()) {
      return fail(OMPL_ERR_LAUNCH, "rank {} has not published \"{}\"", rank, key);
    }
    *value = found->second;
    return OMPL_OK;
  }

  int finish() override { return OMPL_OK; }

  void abort(int exit_code, std::string_view why) override {
    if (exit_code != 0) log::error("aborting the job: {}", why);
    std::this_thread::sleep_for(kLastWords);
    // Once MPI is finalized only the exit status speaks to its launcher, and MPI_Abort must not be called.
    if (mpi_phase() != MpiPhase::running) std::_Exit(exit_code);
    calls_.abort(abi_.world, exit_code);  // MPICH 4.0 hangs when asked to abort a duplicate
  }

 private:
  int gather(Handle comm) {
    std::vector<int> lengths(size_);
    int length = static_cast<int>(unpublished_.size());
    if (calls_.allgather(&length, sizeof length, abi_.byte, lengths.data(), sizeof length, abi_.byte,
                         comm) != 0) {
      return fail(OMPL_ERR_LAUNCH, "MPI_Allgather failed while starting up");
    }
    std::vector<int> offsets(size_);
    int64_t total = 0;
    for (uint32_t i = 0; i < size_; ++i) {
      offsets[i] = static_cast<int>(total);
      total += lengths[i];
    }
    if (total > std::numeric_limits<int>::max()) {
      return fail(OMPL_ERR_LAUNCH, "the ranks published {} bytes; MPI can exchange 2 GiB at once",
                  total);
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    if (calls_.allgatherv(unpublished_.data(), length, abi_.byte, all.data(), lengths.data(),
                          offsets.data(), abi_.byte, comm) != 0) {
      return fail(OMPL_ERR_LAUNCH, "MPI_Allgatherv failed while starting up");
    }
    unpublished_.clear();
    std::string_view rest = all;
    for (uint32_t i = 0; i < size_; ++i) {
      const auto end = rest.size() - static_cast<std::size_t>(lengths[i]);
      while (rest.size() > end) {
        const auto key = take_sized(&rest);
        published_[i][std::string(key)] = take_sized(&rest);
      }
    }
    return OMPL_OK;
  }

  const arch::MpiConstants<Handle> abi_ = arch::mpi_constants<Handle>();
  Calls<Handle> calls_;
  uint32_t rank_ = 0;
  uint32_t size_ = 0;
  std::string unpublished_;
  std::vector<std::map<std::string, std::string, std::less<>>> published_;  // by rank
};

template <class Handle>
int open_with(std::unique_ptr<Bootstrap>* out) {
  auto mpi = std::make_unique<Mpi<Handle>>();
  const int result = mpi->open();
  if (result == OMPL_OK) *out = std::move(mpi);
  return result;
}

bool is_open_mpi() { return arch::mpi_abi() == arch::MpiAbi::open_mpi; }

}  // namespace

bool mpi_may_use_pmi1() { return mpi_phase() != MpiPhase::absent && !is_open_mpi(); }

bool is_open_mpi5_before_init() {
  auto* const version = arch::mpi_function<int(char*, int*)>("MPI_Get_library_version");
  if (mpi_phase() != MpiPhase::before_init || !is_open_mpi() || version == nullptr) return false;
  std::array<char, 8192> text{};  // MPI's limit of it is at most that in every library
  int length = 0;
  return version(text.data(), &length) == 0 && std::strstr(text.data(), "Open MPI v5.") != nullptr;
}

int open_mpi(std::unique_ptr<Bootstrap>* out) {
  return arch::mpi_abi() == arch::MpiAbi::mpich ? open_with<int>(out) : open_with<void*>(out);
}

}  // namespace ompl::bootstrap
