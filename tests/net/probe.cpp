// SPDX-License-Identifier: BSD-3-Clause
// A rank's liveness listener, and another rank's questions to it, as the conduits verbs and mpi have them, without a network of
// theirs.
//
//   probe serve        prints a card, one line, and answers until standard input ends
//   probe ask CARD     asks for each line of standard input; prints the answer and what each address said
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <iostream>
#include <string>

#include "conduit/common/route_search.hpp"
#include "util/bytes.hpp"
#include "util/settings.hpp"

namespace {

using namespace ompl;
using namespace ompl::conduit;

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

std::string from_hex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    uint8_t byte = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

int serve(const Settings& settings) {
  const HostAddresses host = liveness_addresses(settings);
  LivenessListener listener;
  uint16_t port = 0;
  if (listener.open(host.ips(), &port) != 0) return 1;
  std::cout << hex(ByteWriter().add(std::string_view(host.encode())).add(port).bytes()) << std::endl;
  for (pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}; ::poll(&input, 1, 100) == 0;)
    listener.answer();
  return 0;
}

const char* name_of(PeerProbe::Answer answer) {
  switch (answer) {
    case PeerProbe::Answer::lives:
      return "lives";
    case PeerProbe::Answer::dead:
      return "dead";
    case PeerProbe::Answer::refused:
      return "refused";
    default:
      return "unreached";
  }
}

int ask(const Settings& settings, const std::string& card) {
  const std::string bytes = from_hex(card);
  ByteReader reader(bytes);
  std::string host_bytes;
  uint16_t port = 0;
  HostAddresses host;
  if (!reader.get(&host_bytes) || !reader.get(&port) || host.parse(host_bytes) != nullptr) return 2;
  const uint64_t network = liveness_addresses(settings).network;
  PeerProbe probe;
  probe.set_own_network(network);
  if (const char* const wrong = order_for_use(own_interfaces(), network, &host); wrong != nullptr) {
    std::cout << wrong << std::endl;
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    probe.begin(host, port, settings.connect_timeout_ms());
    PeerProbe::Answer answer = probe.look();
    for (; answer == PeerProbe::Answer::none; answer = probe.look()) ::usleep(1000);
    std::cout << name_of(answer) << ": " << probe.why(answer) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::alarm(300);
  Settings settings;
  if (argc < 2 || Settings::read(&settings) != 0) return 2;
  return std::string(argv[1]) == "serve" ? serve(settings) : argc > 2 ? ask(settings, argv[2]) : 2;
}
