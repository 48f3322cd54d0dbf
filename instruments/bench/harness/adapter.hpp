// SPDX-License-Identifier: BSD-3-Clause
// What a communication library must offer to be measured. A worker program is the harness and one
// adapter: a class that satisfies the concept below, in instruments/bench/adapters/<library>.cpp. The harness is
// a template over it, so that the timed loops hold no call that a program written for the library
// alone would not make.
//
// A worker is two ranks. A channel is one direction pair between thread i of rank 0 and thread i of
// rank 1; only these two threads use it. Per rank and channel there is a source buffer, a target
// buffer that the peer writes, and a flag that the peer raises.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace bench {

inline constexpr std::size_t kPage = 4096;
constexpr std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// What the driver asks of a worker at its start.
struct Setup {
  std::string control;    // Unix socket of the driver
  int threads = 1;        // that will measure, and so channels to open
  std::size_t bytes = 8;  // size of each source and target buffer
};

// What a worker says of itself; goes into the result file as it is.
struct Description {
  std::string version;
  std::string transport;
  std::optional<int> endpoints;                // none: the library does not say
  std::map<std::string, std::string> details;  // for example the thread level asked and granted
};

// The constructor A(const Setup&, int argc, char** argv) and the destructor are collective, called by
// the main thread; the constructor throws std::runtime_error. The rest is called by thread i for
// channel i, with no synchronisation between threads.
template <class A>
concept Adapter = requires(A a, const A& fixed, int channel, std::size_t offset, std::size_t bytes) {
  { fixed.rank() } -> std::convertible_to<int>;
  { fixed.describe() } -> std::same_as<Description>;
  // This rank's buffers of a channel, page-aligned.
  { fixed.source(channel) } -> std::same_as<std::byte*>;
  { fixed.target(channel) } -> std::same_as<std::byte*>;
  // Copies [offset, offset + bytes) of the own source buffer to the same place of the peer's target
  // buffer. The source may be reused on return.
  a.put(channel, offset, bytes);
  // Raises the peer's flag after all earlier puts of the channel; counts.
  a.signal(channel);
  // Takes one signal from the own flag.
  a.wait(channel);
  // Returns when all earlier puts of the channel are visible at the peer.
  a.flush(channel);
  // Makes what the peer put and flushed visible to the caller's loads.
  a.look(channel);
};

// The baseline, whose put() also checks the offset where `rate` measures it alone.
template <class A>
concept Checking = requires(A a, int channel, std::size_t offset, std::size_t bytes) {
  a.put_alone(channel, offset, bytes);
};

// Libraries with messages offer these too: the source buffer goes to the peer's target buffer.
template <class A>
concept TwoSided = requires(A a, int channel, std::size_t bytes) {
  a.send(channel, bytes);
  a.receive(channel, bytes);
};

// Libraries that can put and signal in one.
template <class A>
concept Notifying = requires(A a, int channel, std::size_t bytes) {
  a.put_signal(channel, bytes);
};

// Libraries that a network needs at both ends. Called by thread 0 while no other is in the library.
template <class A>
concept Attending = requires(A a) {
  a.attend();
};

// Libraries that count how often a thread found no free endpoint: all since the start, called by the thread.
template <class A>
concept Counting = requires(A a) {
  { a.failed_claims() } -> std::same_as<std::optional<uint64_t>>;
};

}  // namespace bench
