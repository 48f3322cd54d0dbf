// SPDX-License-Identifier: BSD-3-Clause
// An OTF2 archive to be read, by the OTF2 library. Its failures become InputErrors of one line. The library may still
// abort on a damaged archive; whoever must survive that reads in a child process (isolated.hpp).
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace ompl::model::otf2 {

// What a callback of the library threw: it must not go through the library's frames.
class Caught {
 public:
  template <class Work>
  OTF2_CallbackCode during(const Work& work) noexcept {
    try {
      work();
      return OTF2_CALLBACK_SUCCESS;
    } catch (...) {
      error_ = std::current_exception();
      return OTF2_CALLBACK_INTERRUPT;
    }
  }
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::exception_ptr error_;
};

// From now on the library prints no errors. What it said of the first since the last time it was asked, in this thread.
void keep_errors();
[[nodiscard]] std::string last_error();

// While there is one in a thread, a call of the library there that takes a minute ends the process by SIGALRM.
class WatchDog {
 public:
  WatchDog();
  ~WatchDog();
  WatchDog(const WatchDog&) = delete;
  WatchDog& operator=(const WatchDog&) = delete;
};

class Archive {
 public:
  static constexpr uint64_t kBatch = 256;  // events

  explicit Archive(std::string anchor);

  // Calls back with `data`.
  void read_definitions(const OTF2_GlobalDefReaderCallbacks& callbacks, void* data, Caught& caught);
  // Before the first events().
  void open_events(std::span<const uint64_t> locations);
  // The events of a location, in its own clock.
  OTF2_EvtReader* events(uint64_t location, const OTF2_EvtReaderCallbacks& callbacks, void* data);
  // Calls back for the next kBatch, and says how many there were; fewer at the end, after which the library reads no more.
  uint64_t read(OTF2_EvtReader* events, Caught& caught);
  void close(OTF2_EvtReader* events) { OTF2_Reader_CloseEvtReader(reader_.get(), events); }

 private:
  void read_mappings(std::span<const uint64_t> locations);
  void check(OTF2_ErrorCode code, const char* what) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string anchor_;
  std::unique_ptr<OTF2_Reader, OTF2_ErrorCode (*)(OTF2_Reader*)> reader_;
};

}  // namespace ompl::model::otf2
