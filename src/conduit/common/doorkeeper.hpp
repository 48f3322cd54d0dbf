// SPDX-License-Identifier: BSD-3-Clause
// Keeps strangers from filling a process with connections. Libraries accept everybody on their TCP listeners, and wait for
// ever for what a connection has to say first: a thousand silent ones take every descriptor of a rank.
//
// Who says nothing is not even accepted (TCP_DEFER_ACCEPT). Who says too little for a rank of the job has some seconds, and
// none if many do so: then the connection is shut down, upon which the library closes it.
#pragma once

#include <dirent.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace ompl::conduit {

// TCP_DEFER_ACCEPT: until the kernel forgets a connection on which nothing was said, about.
inline constexpr int kDeferSeconds = 60;

// Of an address of IP, in host byte order; 0 if it is none.
uint16_t port_of(const sockaddr_storage& address);

// Ports of all TCP sockets of this process that listen, in host byte order.
std::set<uint16_t> listening_ports();

// One thread at a time.
class Doorkeeper {
 public:
  static constexpr std::size_t kMostSilent = 64;  // connections; beyond, nobody has any time

  // A connection that has brought fewer bytes than `least` is silent. A rank says more before it awaits anything; or makes
  // another connection if one is ended before.
  explicit Doorkeeper(uint64_t least) : least_(least) {}

  // Whether the process may have some more descriptors, as connecting takes.
  static bool has_room();

  // Watches the listener at that port from now on.
  void guard(uint16_t port);

  // Whether the other side of a connection that said enough is known, where that can be told. Else all are.
  using Known = std::function<bool(const sockaddr_storage& peer)>;
  // Turns strangers out. Cheap while no descriptors are added to the process: often. `now` in ms. How many connections wait to
  // be accepted: where strangers come faster than a library takes them, ranks would wait behind them.
  unsigned look(int64_t now, const Known& known = {});

 private:
  struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  [[nodiscard]] bool has_grown();
  [[nodiscard]] unsigned waiting() const;
  void examine(int64_t now, const Known& known);

  const uint64_t least_;
  std::vector<uint16_t> ports_;
  std::vector<int> listeners_;  // their descriptors, which stay while the endpoint lives
  std::unique_ptr<DIR, CloseDirectory> descriptors_;  // kept open for when there are none left
  std::map<uint64_t, int64_t> strangers_;             // sockets, and when each was seen first
  int64_t next_look_ = 0;
  int64_t next_examination_ = 0;
  int lowest_free_ = 0;  // descriptor, at the last examination
};

}  // namespace ompl::conduit
