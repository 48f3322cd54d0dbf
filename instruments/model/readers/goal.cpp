// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/goal.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

constexpr uint64_t kMostRanks = uint64_t{1} << 20;
constexpr std::size_t kLongestLine = 65536;

// The words and signs of one line after the other, comments left out.
class Lexer {
 public:
  explicit Lexer(std::istream& in) : in_(in) {}

  // The next line that is not empty; false at the end.
  bool next_line() {
    do {
      if (!std::getline(in_, text_)) {
        if (in_comment_) fail("the file ends in a comment");
        return false;
      }
      ++number_;
      if (text_.size() > kLongestLine) fail("the line is too long");
      drop_comments();
      rest_ = text_;
    } while (at_end());
    return true;
  }

  [[nodiscard]] uint64_t number() const { return number_; }
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    refuse("line {}: {}", number_, fmt::format(text, std::forward<Args>(args)...));
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  void end() {
    if (!at_end()) fail("unexpected {:?}", shown());
  }
  // A word of letters, digits and _; or "" if there is none.
  std::string_view word() {
    skip_blanks();
    std::size_t size = 0;
    while (size < rest_.size() && is_word(rest_[size])) ++size;
    return take(size);
  }
  bool sign(char wanted) {
    if (at_end() || rest_.front() != wanted) return false;
    take(1);
    return true;
  }
  uint64_t integer(const char* what, uint64_t most) {
    skip_blanks();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range || (error == std::errc{} && value > most))
      fail("{} is above {}", what, most);
    if (error != std::errc{}) fail("{} is missing before {:?}", what, shown());
    take(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void skip_blanks() {
    const std::size_t first = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }
  std::string_view take(std::size_t size) {
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  // Of what follows.
  [[nodiscard]] std::string shown() const { return ompl::shown(rest_, 20); }
  void drop_comments() {
    std::size_t at = 0;
    while (true) {
      if (in_comment_) {
        const std::size_t close = text_.find("*/", at);
        text_.erase(at, close == std::string::npos ? close : close + 2 - at);
        if (close == std::string::npos) return;
        in_comment_ = false;
      }
      at = text_.find('/', at);
      if (at == std::string::npos || at + 1 == text_.size()) return;
      if (text_[at + 1] == '/') return text_.resize(at);
      in_comment_ = text_[at + 1] == '*';
      if (!in_comment_) ++at;
    }
  }

  std::istream& in_;
  std::string text_;
  std::string_view rest_;
  uint64_t number_ = 0;
  bool in_comment_ = false;
};

// The schedule of one rank, in the order of the file.
struct Schedule {
  struct Requirement {
    uint32_t later, earlier;
    bool done;  // else only started
  };
  std::vector<Op> ops;
  std::vector<uint8_t> cpus;  // of the same
  std::vector<Requirement> requirements;
  std::unordered_map<std::string, uint32_t> labels;
};

class Reader {
 public:
  explicit Reader(std::istream& in) : lexer_(in) {}

  std::unique_ptr<Program> read() {
    if (!lexer_.next_line() || lexer_.word() != "num_ranks")
      refuse("a GOAL file begins with num_ranks");
    const auto ranks = static_cast<uint32_t>(lexer_.integer("the number of ranks", kMostRanks));
    if (ranks == 0) lexer_.fail("no ranks");
    lexer_.end();
    program_ = std::make_unique<Program>(ranks);
    std::vector<bool> seen(ranks);
    while (lexer_.next_line()) {
      if (lexer_.word() != "rank") lexer_.fail("expected: rank NUMBER {{");
      const auto rank = static_cast<uint32_t>(lexer_.integer("the rank", ranks - 1));
      if (seen[rank]) lexer_.fail("rank {} comes twice", rank);
      seen[rank] = true;
      if (!lexer_.sign('{')) lexer_.fail("expected: rank NUMBER {{");
      lexer_.end();
      read_rank(rank);
    }
    return std::move(program_);
  }

 private:
  void read_rank(uint32_t rank) {
    Schedule schedule;
    while (true) {
      if (!lexer_.next_line()) refuse("the file ends within rank {}", rank);
      if (lexer_.sign('}')) break;
      statement(schedule);
      lexer_.end();
    }
    lexer_.end();
    translate(schedule, rank);
  }

  void statement(Schedule& schedule) {
    const std::string first{lexer_.word()};
    if (first.empty()) lexer_.fail("expected an operation, a label or }}");
    if (operation(schedule, first)) return;
    if (lexer_.sign(':')) {
      if (!schedule.labels.emplace(first, static_cast<uint32_t>(schedule.ops.size())).second)
        lexer_.fail("label {} comes twice", first);
      const std::string kind{lexer_.word()};
      if (!operation(schedule, kind)) lexer_.fail("expected calc, send or recv");
      return;
    }
    const std::string_view how = lexer_.word();
    if (how != "requires" && how != "irequires") lexer_.fail("expected requires or irequires");
    const bool done = how == "requires";
    const uint32_t later = labelled(schedule, first);
    schedule.requirements.push_back({later, labelled(schedule, std::string(lexer_.word())), done});
  }

  uint32_t labelled(const Schedule& schedule, const std::string& label) const {
    const auto found = schedule.labels.find(label);
    if (found == schedule.labels.end()) lexer_.fail("no operation has the label {}", label);
    return found->second;
  }

  bool operation(Schedule& schedule, const std::string& kind) {
    if (kind != "calc" && kind != "send" && kind != "recv") return false;
    Op op;
    op.site = static_cast<uint32_t>(std::min<uint64_t>(lexer_.number(), UINT32_MAX));
    if (kind == "calc") {
      op.ns = static_cast<double>(lexer_.integer("the nanoseconds", UINT64_MAX));
    } else {
      const bool sends = kind == "send";
      op.kind = sends ? OpKind::isend : OpKind::irecv;
      op.bytes = lexer_.integer("the number of bytes", UINT64_MAX >> 1);
      if (lexer_.word() != "b" || lexer_.word() != (sends ? "to" : "from"))
        lexer_.fail("expected: {} BYTESb {} RANK", kind, sends ? "to" : "from");
      op.peer = number_or_any("the rank", !sends, program_->ranks() - 1);
    }
    schedule.cpus.push_back(options(op));
    schedule.ops.push_back(op);
    return true;
  }

  // The cpu.
  uint8_t options(Op& op) {
    uint8_t cpu = 0;
    while (!lexer_.at_end()) {
      const std::string option{lexer_.word()};
      if (option == "tag" && op.kind != OpKind::compute)
        op.tag = number_or_any("the tag", op.kind == OpKind::irecv, INT32_MAX);
      else if (option == "cpu")
        cpu = static_cast<uint8_t>(lexer_.integer("cpu", UINT8_MAX));
      else if (option == "nic")
        lexer_.integer("nic", UINT8_MAX);  // one network to a rank
      else
        lexer_.fail("expected tag, cpu or nic");
    }
    return cpu;
  }

  int32_t number_or_any(const char* what, bool may_be_any, uint64_t most) {
    const bool negative = lexer_.sign('-');
    const uint64_t value = lexer_.integer(what, negative ? 1 : most);
    if (!negative) return static_cast<int32_t>(value);
    if (!may_be_any || value != 1) lexer_.fail("{} is negative", what);
    return Op::kAny;
  }

  void translate(Schedule& schedule, uint32_t rank);

  Lexer lexer_;
  std::unique_ptr<Program> program_;
};

// The operations so that each comes after what it requires, otherwise as they stand.
std::vector<uint32_t> order_of(const Schedule& schedule, uint32_t rank) {
  const auto count = static_cast<uint32_t>(schedule.ops.size());
  std::vector<uint32_t> missing(count), first_user(count + 1), users(schedule.requirements.size());
  for (const auto& requirement : schedule.requirements) {
    ++missing[requirement.later];
    ++first_user[requirement.earlier];
  }
  for (uint32_t sum = 0; uint32_t & place : first_user) place = sum += place;
  for (const auto& requirement : schedule.requirements)
    users[--first_user[requirement.earlier]] = requirement.later;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  for (uint32_t op = 0; op < count; ++op)
    if (missing[op] == 0) free.push(op);
  std::vector<uint32_t> order;
  order.reserve(count);
  while (!free.empty()) {
    const uint32_t op = free.top();
    free.pop();
    order.push_back(op);
    for (uint32_t i = first_user[op]; i < first_user[op + 1]; ++i)
      if (--missing[users[i]] == 0) free.push(users[i]);
  }
  if (order.size() < count) {
    const auto stuck = std::ranges::find_if(missing, [](uint32_t n) { return n > 0; });
    refuse("rank {}: the operation of line {} requires itself", rank,
           schedule.ops[static_cast<std::size_t>(stuck - missing.begin())].site);
  }
  return order;
}

// The schedule of a rank as the calls of a thread for each cpu.
class Translator {
 public:
  Translator(Schedule& schedule, Program& program, uint32_t rank)
      : schedule_(schedule), program_(program), rank_(rank), request_(schedule.ops.size(), kNoRequest) {
    std::ranges::stable_sort(schedule.requirements, {}, &Schedule::Requirement::later);
    std::set<uint8_t> cpus(schedule.cpus.begin(), schedule.cpus.end());
    if (cpus.size() > 1 && !find_crossings()) {
      std::ranges::fill(schedule.cpus, uint8_t{0});
      crossings_.clear();
      cpus = {0};
    }
    threads_.resize(UINT8_MAX + 1);
    for (const uint8_t cpu : cpus)
      threads_[cpu].number = cpu == *cpus.begin() ? rank : program.add_thread(rank);
  }

  void translate() {
    const std::vector<uint32_t> order = order_of(schedule_, rank_);
    std::vector<bool> is_needed(schedule_.ops.size());
    for (const uint32_t op : order) {
      Thread& thread = threads_[schedule_.cpus[op]];
      for (const uint32_t other : needed_) is_needed[other] = false;
      needed_.clear();
      taken_.clear();
      auto first =
          std::ranges::lower_bound(schedule_.requirements, op, {}, &Schedule::Requirement::later);
      for (; first != schedule_.requirements.end() && first->later == op; ++first) {
        if (schedule_.cpus[first->earlier] != schedule_.cpus[op]) {
          take(*first);
          continue;
        }
        const bool open = first->earlier == thread.held || request_[first->earlier] != kNoRequest;
        if (!first->done || !open || is_needed[first->earlier]) continue;
        is_needed[first->earlier] = true;
        needed_.push_back(first->earlier);
      }
      wait_for(thread, schedule_.ops[op].site);
      if (schedule_.ops[op].kind != OpKind::compute)
        thread.held = op;
      else if (schedule_.ops[op].ns != 0)  // else it only joins others
        program_.add(thread.number, schedule_.ops[op]);
      if (!crossings_.empty()) hand_over(thread, op);
    }
    taken_.clear();
    for (std::size_t cpu = 0; cpu < threads_.size(); ++cpu) end(threads_[cpu], cpu, order);
  }

 private:
  static constexpr uint64_t kNoRequest = Op::kNoRequest;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Thread {
    uint32_t number = kNone;
    uint64_t posted = 0;
    uint32_t held =
        kNone;  // the last send or receive, as long as it may turn out to be a blocking call
  };
  // What an operation hands over to another cpu: itself, or the moment behind its call.
  using Crossing = std::tuple<uint32_t, uint8_t, bool>;

  Crossing crossing_of(const Schedule::Requirement& one) const {
    const bool waits = one.done && schedule_.ops[one.earlier].kind != OpKind::compute;
    return {one.earlier, schedule_.cpus[one.later], waits};
  }

  // False if a message is waited for on several cpus: a request is waited for once.
  bool find_crossings() {
    std::unordered_map<uint32_t, uint8_t> waiting;  // the cpu that waits for a message
    for (const auto& one : schedule_.requirements) {
      const Crossing crossing = crossing_of(one);
      const auto [earlier, cpu, waits] = crossing;
      if (waits && waiting.emplace(earlier, cpu).first->second != cpu) return false;
      if (cpu != schedule_.cpus[earlier]) crossings_.emplace(crossing, crossings_.size());
    }
    return true;
  }

  // What is handed over to a cpu is taken by the first operation there that requires it.
  void take(const Schedule::Requirement& one) {
    const auto found = crossings_.find(crossing_of(one));
    if (found == crossings_.end()) return;
    taken_.push_back(found->second);
    crossings_.erase(found);
  }

  void hand_over(Thread& thread, uint32_t op) {
    for (auto at = crossings_.lower_bound({op, 0, false});
         at != crossings_.end() && std::get<0>(at->first) == op; ++at) {
      post_held(thread);
      const bool waits = std::get<2>(at->first);
      program_.add(thread.number,
                   {.kind = OpKind::hand,
                    .site = schedule_.ops[op].site,
                    .request = waits ? std::exchange(request_[op], kNoRequest) : kNoRequest,
                    .number = at->second});
    }
  }

  void post_held(Thread& thread) {
    if (thread.held == kNone) return;
    program_.add(thread.number, schedule_.ops[thread.held]);
    request_[thread.held] = thread.posted++;
    thread.held = kNone;
  }

  // For what is needed of this thread and taken from others.
  void wait_for(Thread& thread, uint32_t site) {
    if (needed_.size() == 1 && needed_.front() == thread.held && taken_.empty()) {
      Op op = schedule_.ops[thread.held];
      op.kind = op.kind == OpKind::isend ? OpKind::send : OpKind::recv;
      program_.add(thread.number, op);
      thread.held = kNone;
      return;
    }
    post_held(thread);
    std::size_t left = needed_.size() + taken_.size();
    Op wait{.kind = OpKind::wait, .site = site};
    for (const uint32_t op : needed_) {
      wait.more = --left > 0;
      wait.request = std::exchange(request_[op], kNoRequest);
      program_.add(thread.number, wait);
    }
    wait.handed = true;
    for (const uint64_t number : taken_) {
      wait.more = --left > 0;
      wait.number = number;
      program_.add(thread.number, wait);
    }
  }

  // Waits for what is still open.
  void end(Thread& thread, std::size_t cpu, const std::vector<uint32_t>& order) {
    if (thread.number == kNone) return;
    needed_.clear();
    for (const uint32_t op : order)
      if (schedule_.cpus[op] == cpu && (op == thread.held || request_[op] != kNoRequest))
        needed_.push_back(op);
    if (!needed_.empty()) wait_for(thread, schedule_.ops[needed_.back()].site);
    program_.finish(thread.number);
  }

  Schedule& schedule_;
  Program& program_;
  uint32_t rank_;
  std::vector<uint64_t> request_;           // of each operation, while it is open
  std::vector<Thread> threads_;             // by cpu
  std::map<Crossing, uint64_t> crossings_;  // not yet taken, with their numbers
  std::vector<uint32_t> needed_;            // by the present operation, of its own cpu
  std::vector<uint64_t> taken_;             // the same, of others
};

void Reader::translate(Schedule& schedule, uint32_t rank) {
  Translator(schedule, *program_, rank).translate();
}

}  // namespace

std::unique_ptr<Program> read_goal(std::istream& in) { return Reader(in).read(); }

std::unique_ptr<Program> read_goal_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse("{}: cannot be read", path);
  try {
    return read_goal(in);
  } catch (const InputError& error) {
    refuse("{}: {}", path, error.what());
  }
}

}  // namespace ompl::model
