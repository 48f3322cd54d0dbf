// SPDX-License-Identifier: BSD-3-Clause
// What a coarray runtime offers to a compiler, without any compiler's conventions: images, teams, coarrays, transfers,
// synchronisation, failures. Images are counted from 1 in the current team, as Fortran does; ranks are the layer's.
// Functions that return int return 0 or a code below, why() then saying what was wrong. One thread of an image calls
// image control statements, allocation and collectives; transfers and atomics may be called by any.
#pragma once

#include <omnipgas/coll.h>
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_memory.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caf {

// Codes of STAT=, some of them those of gfortran's ISO_FORTRAN_ENV.
enum Stat : int {
  kOk = 0,
  kLocked = 1,
  kLockedOther = 2,
  kDuplicate = 3,
  kStopped = 6000,
  kFailed = 6001,
  kUnlockedFailed = 6002,
  kUnlocked = 6003,
  kNoMemory = 5014,
  kMismatch = 7001,
  kWrong = 7002,
  kLayer = 7003
};

// Keeps the text of why() and returns the code.
int refuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
// What the calling thread's last failed call says; never empty.
std::string why();
// The STAT= code of an error of the layer in a statement that concerns `rank`, whose text it keeps.
int layer_error(int code, uint32_t rank);

struct Team;
struct Coarray;

// --- Beginning and end (start.cpp)
void begin();                      // once; ends the process with a message if the layer cannot begin
[[noreturn]] void stop(int code);  // normal termination: waits for the other images, then exit(code)
[[noreturn]] void error_stop(int code, const std::string& reason);  // ends all images
[[noreturn]] void fail_image();                                     // this image fails
void end_program();                                                 // normal termination without exit
uint64_t job_seed();  // the same on all images, different in each job

// --- Images and teams (teams.cpp)
Team* current_team();
int this_image();
int num_images();
int number_of(const Team* team);  // its team number; -1 of the initial team
// Images of a team are in the order of `index`, those with the same one in that of the current team.
int form_team(int number, Team** team, int index = 0);
int change_team(Team* team);
int end_team();
int sync_team(Team* team);
// The rank of an image of the current team, or an error that names the coindex.
int rank_of_image(int image, uint32_t* rank);
// The same for a team that the current team is in, and for one by its number: a sibling of the current team, or the initial one (-1).
int rank_of_image_in(const Team* team, int image, uint32_t* rank);
int rank_of_image_in(int number, int image, uint32_t* rank);

// --- Failed and stopped images (failures.cpp)
int image_status(int image, int* status);
std::vector<int> failed_images();  // of the current team, ascending
std::vector<int> stopped_images();

// --- Coarrays (coarrays.cpp)
enum class Fill { none, zero };
int allocate(std::size_t bytes, Fill fill, Coarray** coarray);  // collective in the current team
int release(Coarray* coarray);  // collective in the team that allocated it
void* own_memory(const Coarray* coarray);
std::size_t bytes_of(const Coarray* coarray);
// Where the coarray lies on a rank, as an address of that process.
int address_on(const Coarray* coarray, uint32_t rank, uint64_t* address);

// --- Memory of this image alone that others can reach (components.cpp); any thread
void* allocate_component(std::size_t bytes);  // null if there is none
void release_component(void* memory);
bool in_own_segment(const void* address);

// --- Transfers (transfer.cpp). Remote addresses are those of the target's process, in its segment or outside of it.
constexpr int kMostRank = 15;
struct Shape {  // innermost dimension first; strides in bytes
  int dimensions = 0;
  std::size_t extent[kMostRank] = {};
  std::ptrdiff_t stride[kMostRank] = {};
  [[nodiscard]] std::size_t count() const;
};
Shape packed(const Shape& like, std::size_t element);  // the same extents, contiguous
int get(uint32_t rank, uint64_t address, void* local, std::size_t bytes);
int put(uint32_t rank, uint64_t address, const void* local, std::size_t bytes);
int get_section(uint32_t rank, uint64_t address, const Shape& remote, std::size_t element, void* local,
                const Shape& here);
int put_section(uint32_t rank, uint64_t address, const Shape& remote, std::size_t element,
                const void* local, const Shape& here);
int get_list(uint32_t rank, const std::vector<uint64_t>& addresses, std::size_t element, void* buffer);
int put_list(uint32_t rank, const std::vector<uint64_t>& addresses, std::size_t element,
             const void* buffer);
void copy_block(std::byte* to, const Shape& to_shape, const std::byte* from, const Shape& from_shape,
                std::size_t element);
// Where that memory is mapped here, or null. Own memory is.
std::byte* direct(uint32_t rank, uint64_t address, std::size_t bytes);
// kFailed if the rank is known to have failed.
int alive(uint32_t rank);
// Completes what this image has sent: the end of a segment of Fortran.
int complete();

// --- Requests that run at another image (far.cpp)
struct Asked {
  const void* arguments;  // aligned to 16
  std::size_t bytes;
  uint32_t source;    // who asks
  ompl_ctx* context;  // null: this image itself
};
using Service = uint64_t (*)(const Asked& asked);
// Has `service` known at all images, in the same order everywhere, before begin(). Any number below 8.
void offer(int number, Service service);
// Any number of bytes.
int ask(uint32_t rank, int number, const void* arguments, std::size_t bytes, uint64_t* reply);
// For a service: puts data into a component of who asks; it is there before the reply. False: it could not be sent.
bool answer(const Asked& asked, uint64_t address, const void* data, std::size_t bytes);
// Has requests served while this image computes, unless OMPL_PROGRESS says otherwise. Any number of times.
void serve_requests();

// --- Image control (sync.cpp)
int sync_all();
int sync_images(const int* images, std::size_t count);  // null: all
int sync_memory();

// --- Events, locks, atomics (words.cpp). `address` is that of the word on that rank.
constexpr std::size_t kWord = 8;  // bytes of an event or a lock; a lock needs 4 of them
int event_post(uint32_t rank, uint64_t address);
int event_wait(uint64_t address, uint32_t until);
int event_query(uint32_t rank, uint64_t address, int* count);
int lock(uint32_t rank, uint64_t address, bool* acquired);  // acquired null: waits
int unlock(uint32_t rank, uint64_t address);                // kUnlocked, kLockedOther
int atomic(uint32_t rank, uint64_t address, int op, uint32_t operand, uint32_t compare,
           uint32_t* before);
int atomic64(uint32_t rank, uint64_t address, int op, uint64_t operand, uint64_t compare,
             uint64_t* before);

// --- Collectives (collectives.cpp), of the current team, on contiguous data, in place
struct Operation {
  int32_t type;  // the layer's; OMPL_ELEMENT with an operation of operation()
  int32_t op;
  ompl_op_fn function;  // the same, for what is combined here
  void* arg;
};
// A user-defined one, kept for the same function, `arg` and element; `key` tells args apart.
int operation(ompl_op_fn function, void* arg, uint64_t key, std::size_t element, Operation* made);
int co_broadcast(void* data, std::size_t bytes, int source_image);
// A broadcast of at most 4 KiB that goes on without failed members: kFailed, and the data are there if the source has not failed.
int co_tell(void* data, std::size_t bytes, int source_image);
int co_reduce(void* data, std::size_t count, std::size_t element, Operation how, int result_image);

}  // namespace caf
