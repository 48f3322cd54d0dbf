// SPDX-License-Identifier: BSD-3-Clause
// Passing a segment to a rank that cannot open it under /proc (another PID namespace, a process that is not
// dumpable): file descriptors over an abstract Unix socket. Both sides send first and then receive, rank by
// rank in ascending order, so nobody waits for somebody who waits for him.
#pragma once

#include <sys/un.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace ompl::conduit::shm {

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

  // What others must know to send: the socket's name, and a word that only ranks of the job have read.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t secret() const { return secret_; }

  // Sends `gift` as from rank `from` to the rank that listens as `name`. False if it cannot be reached.
  static bool send(const std::string& name, uint64_t secret, uint32_t from, const Gift& gift);

  // The gift of rank `from`, waiting for it up to a time limit. False if none came. What comes from another
  // user or without the secret is thrown away.
  bool receive(uint32_t from, Gift* gift);

 private:
  void accept_one();

  int socket_ = -1;
  std::string name_;
  uint64_t secret_ = 0;
  std::map<uint32_t, Gift> arrived_;
};

}  // namespace ompl::conduit::shm
