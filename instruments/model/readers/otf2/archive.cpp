// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/archive.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "common/input_error.hpp"

namespace ompl::model::otf2 {

namespace {

constexpr unsigned kPatience_s = 60;

thread_local bool watched = false;

void feed_dog() {
  if (watched) alarm(kPatience_s);
}

// What the library said last, in this thread. It would print it.
thread_local std::string said;

OTF2_ErrorCode keep_error(void* /*data*/, const char* /*file*/, uint64_t /*line*/,
                          const char* /*function*/, OTF2_ErrorCode code, const char* format,
                          va_list arguments) {
  char text[256] = "";
  if (format != nullptr) std::vsnprintf(text, sizeof text, format, arguments);
  if (said.empty()) said = fmt::format("{}: {}", OTF2_Error_GetDescription(code), text);
  for (char& c : said)
    if (c == '\n') c = ' ';
  return code;
}

}  // namespace

void keep_errors() { OTF2_Error_RegisterCallback(keep_error, nullptr); }

std::string last_error() { return std::exchange(said, ""); }

WatchDog::WatchDog() { watched = true; }

WatchDog::~WatchDog() {
  watched = false;
  alarm(0);
}

void Archive::fail(const std::string& what) const {
  const std::string why = last_error();
  refuse("{}: {}{}{}", anchor_, what, why.empty() ? "" : ": ", why);
}

void Archive::check(OTF2_ErrorCode code, const char* what) const {
  if (code != OTF2_SUCCESS) fail(what);
  said.clear();
}

Archive::Archive(std::string anchor) : anchor_(std::move(anchor)), reader_(nullptr, OTF2_Reader_Close) {
  feed_dog();
  keep_errors();
  said.clear();
  reader_.reset(OTF2_Reader_Open(anchor_.c_str()));
  if (reader_ == nullptr) fail("no OTF2 archive");
  check(OTF2_Reader_SetSerialCollectiveCallbacks(reader_.get()), "cannot be read");
}

void Archive::read_definitions(const OTF2_GlobalDefReaderCallbacks& callbacks, void* data,
                               Caught& caught) {
  OTF2_GlobalDefReader* const definitions = OTF2_Reader_GetGlobalDefReader(reader_.get());
  if (definitions == nullptr) fail("its definitions cannot be read");
  uint64_t count = 0, expected = 0;
  feed_dog();
  check(OTF2_Reader_RegisterGlobalDefCallbacks(reader_.get(), definitions, &callbacks, data),
        "its definitions cannot be read");
  const auto code = OTF2_Reader_ReadAllGlobalDefinitions(reader_.get(), definitions, &count);
  caught.rethrow();
  check(code, "its definitions cannot be read");
  check(OTF2_Reader_GetNumberOfGlobalDefinitions(reader_.get(), &expected), "no number of definitions");
  if (count != expected)
    refuse("{}: it has {} definitions, but says {}: it is truncated", anchor_, count, expected);
  OTF2_Reader_CloseGlobalDefReader(reader_.get(), definitions);
}

// Local definitions translate the numbers in a location's events. Not every archive has them.
void Archive::read_mappings(std::span<const uint64_t> locations) {
  if (OTF2_Reader_OpenDefFiles(reader_.get()) != OTF2_SUCCESS) return said.clear();
  uint64_t missing = 0;
  for (const uint64_t location : locations) {
    OTF2_DefReader* const definitions = OTF2_Reader_GetDefReader(reader_.get(), location);
    uint64_t count = 0;
    feed_dog();
    missing += definitions == nullptr ? 1 : 0;
    if (definitions == nullptr) continue;
    check(OTF2_Reader_ReadAllLocalDefinitions(reader_.get(), definitions, &count),
          "the definitions of a location cannot be read");
    OTF2_Reader_CloseDefReader(reader_.get(), definitions);
  }
  said.clear();
  if (missing > 0 && missing < locations.size())
    refuse("{}: of {} locations {} have no definitions: a file is missing", anchor_, locations.size(),
           missing);
  OTF2_Reader_CloseDefFiles(reader_.get());
}

void Archive::open_events(std::span<const uint64_t> locations) {
  for (const uint64_t location : locations)
    check(OTF2_Reader_SelectLocation(reader_.get(), location), "a location cannot be selected");
  read_mappings(locations);
  check(OTF2_Reader_OpenEvtFiles(reader_.get()), "its events cannot be read");
}

OTF2_EvtReader* Archive::events(uint64_t location, const OTF2_EvtReaderCallbacks& callbacks,
                                void* data) {
  OTF2_EvtReader* const events = OTF2_Reader_GetEvtReader(reader_.get(), location);
  if (events == nullptr) fail(fmt::format("the events of location {} cannot be read", location));
  check(OTF2_Reader_RegisterEvtCallbacks(reader_.get(), events, &callbacks, data),
        "its events cannot be read");
  // The time between two events of a rank is what its own clock says.
  check(OTF2_EvtReader_ApplyClockOffsets(events, false), "its events cannot be read");
  return events;
}

uint64_t Archive::read(OTF2_EvtReader* events, Caught& caught) {
  uint64_t count = 0;
  feed_dog();
  const auto code = OTF2_Reader_ReadLocalEvents(reader_.get(), events, kBatch, &count);
  caught.rethrow();
  check(code, "its events cannot be read");
  return count;
}

}  // namespace ompl::model::otf2
