// SPDX-License-Identifier: BSD-3-Clause
#include "control.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "common/printable.hpp"

namespace bench {

// All but `what`, which is called "do" there.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Command, op, threads, size, iterations, seconds, limit,
                                                attend, asleep, work, timed, polls, messages, sequence,
                                                counts, neighbors, grid, kernel, elements, cores,
                                                helpers, skew)

namespace {

constexpr int kEndMs = 1000;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

nlohmann::json to_json(const Report& report) {
  struct Form {
    nlohmann::json operator()(uint64_t count) const { return count; }
    nlohmann::json operator()(double number) const { return number; }
    nlohmann::json operator()(const std::string& text) const { return text; }
    nlohmann::json operator()(const Histogram& histogram) const { return histogram.counts(); }
    nlohmann::json operator()(const std::vector<ThreadReport>& threads) const {
      nlohmann::json list = nlohmann::json::array();
      for (const ThreadReport& thread : threads) {
        list.push_back(
            {{"iterations", thread.iterations}, {"seconds", thread.seconds}, {"sent", thread.sent}});
        if (thread.failed_claims) list.back()["failed_claims"] = *thread.failed_claims;
      }
      return list;
    }
  };
  nlohmann::json body = nlohmann::json::object();
  for (const auto& [name, value] : report) body[name] = std::visit(Form{}, value);
  return body;
}

}  // namespace

void say_error(const char* program, const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", ompl::printable(program), ompl::printable(error.what()));
}

Setup parse_setup(int argc, char** argv) {
  Setup setup;
  CLI::App app("One library under measurement; started by omni, which speaks to it through a socket");
  app.add_option("--control", setup.control, "Unix socket of the driver")->required();
  app.add_option("--threads", setup.threads, "Threads per rank at most")->required();
  app.add_option("--bytes", setup.bytes, "Message size at most")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw std::runtime_error(error.what());
  }
  return setup;
}

Control::Control(const Setup& setup, int rank, const Description& description) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (setup.control.size() >= sizeof address.sun_path)
    throw std::runtime_error("control path too long");
  setup.control.copy(address.sun_path, setup.control.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("socket");
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail(setup.control);
  nlohmann::json endpoints;  // null
  if (description.endpoints) endpoints = *description.endpoints;
  const nlohmann::json hello{{"hello",
                              {{"rank", rank},
                               {"pid", getpid()},
                               {"version", description.version},
                               {"transport", description.transport},
                               {"endpoints", endpoints},
                               {"details", description.details}}}};
  send(hello.dump());
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0) fail("eventfd");
  watcher_ = std::thread(&Control::watch, this);
}

Control::~Control() {
  eventfd_write(stop_, 1);
  watcher_.join();
  close(stop_);
  close(fd_);
}

// Asleep until the driver is gone. A rank that is idle then ends in order.
void Control::watch() const {
  std::array<pollfd, 2> ends{
      {{.fd = stop_, .events = POLLIN, .revents = 0}, {.fd = fd_, .events = POLLRDHUP, .revents = 0}}};
  while (poll(ends.data(), 2, -1) < 0) {
  }
  if (ends[0].revents == 0 && poll(ends.data(), 1, kEndMs) == 0) _exit(2);
}

std::optional<Command> Control::next() {
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    char buffer[4096];
    const ssize_t got = read(fd_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;  // the driver is gone
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
  const auto line = nlohmann::json::parse(unread_.substr(0, end));
  auto command = line.get<Command>();
  command.what = line.at("do");
  unread_.erase(0, end + 1);
  if (command.what == "rest") return next();
  if (command.what == "exit") return std::nullopt;
  alarm(command.limit);
  return command;
}

bool Control::pending() const {
  pollfd line{.fd = fd_, .events = POLLIN, .revents = 0};
  return !unread_.empty() || poll(&line, 1, 0) != 0;
}

void Control::report(const Report& report) {
  // First: once the driver has the report it may stop this process, for longer than the limit.
  alarm(0);
  send(nlohmann::json{{"report", to_json(report)}}.dump());
}

void Control::corrupt(const std::string& what) {
  send(nlohmann::json{{"corrupt", what}}.dump());
  _exit(3);
}

void Control::send(std::string line) const {
  line += '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t sent = ::send(fd_, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail("the driver went away");
    done += static_cast<std::size_t>(sent);
  }
}

}  // namespace bench
