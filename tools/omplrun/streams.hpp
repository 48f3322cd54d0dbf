// SPDX-License-Identifier: BSD-3-Clause
// The ranks' standard streams: their output goes to omplrun's own streams in whole lines; its input goes to rank 0.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "event_loop.hpp"

namespace omplrun {

// One of omplrun's own streams. write() never blocks: what the reader does not take yet is queued.
class Sink {
 public:
  // `broken` is called once, with errno, if the stream cannot be written any more.
  Sink(EventLoop& loop, int fd, std::function<void(int)> broken);

  void write(std::string_view bytes);
  [[nodiscard]] bool empty() const { return queue_.empty(); }

  // Enough is queued: producers should stop until the function given to when_empty() is called.
  [[nodiscard]] bool full() const { return queue_.size() > kEnough; }
  void when_empty(std::function<void()> resume) { waiting_.push_back(std::move(resume)); }

 private:
  static constexpr std::size_t kEnough = std::size_t{1} << 20;

  // Writes up to `limit` bytes of the queue, which is empty once all are written; false if the stream is
  // broken.
  bool write_some(std::size_t limit);
  void on_writable();
  void give_up();

  EventLoop& loop_;
  int fd_;
  std::function<void(int)> broken_;
  bool is_broken_ = false;
  std::string queue_;
  std::size_t written_ = 0;  // bytes of the queue
  std::vector<std::function<void()>> waiting_;
};

// Gathers bytes into lines and puts a prefix before each.
class Lines {
 public:
  explicit Lines(std::string prefix) : prefix_(std::move(prefix)) {}

  // The whole lines that `bytes` complete. A line of more than 1 MiB is broken.
  std::string add(std::string_view bytes);
  // The last line, which has no end; with a prefix it is given one.
  std::string finish();

 private:
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  std::string prefix_;
  std::string partial_;
};

// One output pipe of a rank. Stays where it is: the loop holds its address.
class RankStream {
 public:
  RankStream(EventLoop& loop, Fd pipe, std::string prefix, Sink& sink);
  ~RankStream() { loop_.forget(pipe_.get()); }
  RankStream(const RankStream&) = delete;
  RankStream& operator=(const RankStream&) = delete;

  // Takes what is in the pipe now.
  void drain();
  // Whether a process may still write to the pipe.
  [[nodiscard]] bool open() const { return static_cast<bool>(pipe_); }
  // Takes what is still in the pipe, and nothing more, whoever may hold it open.
  void finish();

 private:
  void watch();
  void on_readable();
  bool read_some();  // false: nothing there now, or the end

  EventLoop& loop_;
  Fd pipe_;
  Lines lines_;
  Sink& sink_;
};

// Standard input goes to rank 0; the other ranks find an empty one.
class Input {
 public:
  explicit Input(EventLoop& loop);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The job was stopped, and goes on, perhaps in the background or in the foreground again.
  void continued();

  // What `rank` is to have as its standard input. Valid until all_started().
  [[nodiscard]] int for_rank(uint32_t rank) const;
  // Every rank has its copy: from now on, what is typed is passed on.
  void all_started();

 private:
  void await_typing();
  void await_room();
  void pass_on();
  void stop();

  EventLoop& loop_;
  Fd nothing_;
  // Only if standard input is a terminal. Rank 0 cannot read it itself, being in another process group.
  // Anything else rank 0 inherits, so that omplrun reads nothing that the ranks do not want.
  Fd typed_;    // what rank 0 reads
  Fd to_rank_;  // the other end
};

}  // namespace omplrun
