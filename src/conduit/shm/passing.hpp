// SPDX-License-Identifier: BSD-3-Clause
// Passing a segment to a rank that cannot open it under /proc (another PID namespace, a process that is not
// dumpable): file descriptors over an abstract Unix socket. Both sides send first and then receive, rank by
// rank in ascending order, so nobody waits for somebody who waits for him.
//
// Everybody on the machine may connect to an abstract socket. So nothing is sent to a process of another user, which may
// have taken the name of a rank that died, and connections of other users are closed as soon as they are seen. One
// poll() waits for all connections; none is ever waited for alone.
#pragma once

#include <sys/resource.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>

namespace ompl::conduit::shm {

// Descriptors that a rank needs for so many ranks of its node: the pidfd of each, in jobs with a network its wake-up pipe, or without
// pidfds its segment, where that stands in a file of its own.
constexpr rlim_t descriptors_of_peers(uint32_t ranks) { return rlim_t{2} * ranks; }
// What is left beside them for the program and its network.
inline constexpr rlim_t kDescriptorsOfTheProgram = 128;

// What a rank gives away. Owned by whoever holds it last.
struct Gift {
  int segment = -1;
  int wake_read = -1;  // kept open, so that writing to the pipe of a dead rank raises no SIGPIPE
  int wake_write = -1;
  int process = -1;  // a pidfd
};

class Passing {
 public:
  Passing() = default;
  ~Passing();
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;

  // Listens under a random name. OMPL_OK or OMPL_ERR_SYSTEM.
  int open();
  // Nothing will come any more: connections are no longer taken.
  void close();

  // What others must know to send: the socket's name, and a word that only ranks of the job have read. The word itself is
  // never sent to a socket.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t word() const { return word_; }

  // Sends `gift` as from rank `from` to the rank that listens as `name` and has published `word`; takes in meanwhile what
  // others send. False if it cannot be reached within a time limit, or the name is another user's.
  bool send(const std::string& name, uint64_t word, uint32_t from, const Gift& gift);

  // The gift of rank `from`, waiting for it up to a time limit. False if none came. What comes from another
  // user or from who does not know the word is thrown away, with its descriptors.
  bool receive(uint32_t from, Gift* gift);

 private:
  // A connection of this user that has said nothing yet.
  struct Visitor {
    int connection = -1;
    int64_t until = 0;  // ms
  };
  bool serve(int64_t limit);
  void accept_all();
  void welcome(int connection);
  void hear(int connection);
  void turn_away_late();

  int socket_ = -1;
  std::string name_;
  uint64_t word_ = 0;
  std::list<Visitor> visitors_;
  std::map<uint32_t, Gift> arrived_;
};

}  // namespace ompl::conduit::shm
