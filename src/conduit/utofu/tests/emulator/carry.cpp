// SPDX-License-Identifier: BSD-3-Clause
// How commands are carried out: piece by piece, late, and in whatever order uTofu allows.
//
// Promised, and so kept: a strong-order command takes effect after every strong-order command that the same VCQ posted
// before it to the same VCQ, and its own data are written from the lowest address on, the last word at once. A notice comes
// after what it tells of. Nothing else is.
#include <algorithm>
#include <cstring>
#include <vector>

#include "device.hpp"

namespace emulator {
namespace {

constexpr std::size_t kLeastPiece = 64;
constexpr std::size_t kPieces = 4;

uint64_t result_of(const Command& command, uint64_t old) {
  switch (command.op) {
    case 0:
      return old == command.compare ? command.value : old;
    case UTOFU_ARMW_OP_SWAP:
      return command.value;
    case UTOFU_ARMW_OP_ADD:
      return old + command.value;
    case UTOFU_ARMW_OP_XOR:
      return old ^ command.value;
    case UTOFU_ARMW_OP_AND:
      return old & command.value;
    default:
      return old | command.value;
  }
}

uint8_t notice_type(Kind kind, bool remote) {
  const uint8_t first = kind == Kind::put   ? UTOFU_MRQ_TYPE_LCL_PUT
                        : kind == Kind::get ? UTOFU_MRQ_TYPE_LCL_GET
                                            : UTOFU_MRQ_TYPE_LCL_ARMW;
  return static_cast<uint8_t>(first + (remote ? 1 : 0));
}

// What the own side says of memory of its own.
int local_code(int code) {
  return code == UTOFU_ERR_MRQ_RMT_STADD    ? UTOFU_ERR_TCQ_STADD
         : code == UTOFU_ERR_MRQ_RMT_LENGTH ? UTOFU_ERR_TCQ_LENGTH
         : code == UTOFU_SUCCESS            ? UTOFU_SUCCESS
                                            : UTOFU_ERR_TCQ_MEMORY;
}

}  // namespace

Vcq::Vcq(SharedVcq& shared, unsigned long flags, uint64_t seed)
    : shared_(shared), thread_safe_((flags & UTOFU_VCQ_FLAG_THREAD_SAFE) != 0), dice_(seed) {}

Vcq::~Vcq() = default;

int Vcq::post(const Command& command) {
  const utofu_emulator_settings how = settings();
  const std::lock_guard lock(mutex_);
  if (used_ >= how.toq_depth || one_in(how.spurious_busy)) {
    ++counts().busy;
    return UTOFU_ERR_BUSY;
  }
  const int code = injected();
  const bool ends_with = code <= UTOFU_ERR_TCQ_OTHER && code > UTOFU_ERR_INVALID_ARG;
  if (code != UTOFU_SUCCESS && !ends_with) return code;
  commands_.push_back(command);
  commands_.back().code = code;
  ++used_;
  ++counts().posts;
  if (command.kind == Kind::put && !command.inlined) {
    ++counts().puts[shared_.tni];
    counts().bytes[shared_.tni] += command.length;
  }
  if (how.delay == 0) step();
  return UTOFU_SUCCESS;
}

int Vcq::poll_tcq(void** cbdata) {
  carry();
  const std::lock_guard lock(mutex_);
  used_ -= ended_;
  ended_ = 0;
  if (sent_.empty()) return UTOFU_ERR_NOT_FOUND;
  const Sent first = sent_.front();
  sent_.pop_front();
  *cbdata = first.cbdata;
  return first.code;
}

int Vcq::poll_mrq(utofu_mrq_notice* notice) {
  carry();
  const std::lock_guard lock(shared_.mutex);
  if (shared_.taken == shared_.arrived) return UTOFU_ERR_NOT_FOUND;
  const Waiting& first = shared_.notices[shared_.taken++ % kMrq];
  *notice = first.notice;
  return first.code;
}

void Vcq::carry() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && !commands_.empty()) step();
}

// Every command that may move does so by chance.
void Vcq::step() {
  const unsigned delay = settings().delay;
  std::vector<const SharedVcq*> behind;  // VCQs to which a strong command is still to take effect
  for (auto each = commands_.begin(); each != commands_.end();) {
    const auto command = each++;
    const bool strong = command->is(UTOFU_ONESIDED_FLAG_STRONG_ORDER);
    const bool waits = strong && std::ranges::find(behind, command->to) != behind.end();
    if (!waits && (delay <= 1 || one_in(delay))) {
      while (!move(*command) && delay == 0) {
      }
      if (command->sent) {
        if (delay == 0 || command->moved > command->length) finish(command);
        continue;
      }
    }
    if (strong && !command->sent) behind.push_back(command->to);
  }
}

// One piece. True once there is no other.
bool Vcq::move(Command& command) {
  if (command.sent) {  // the answer has come
    command.moved = command.length + 1;
    return true;
  }
  if (command.code == UTOFU_SUCCESS && command.kind == Kind::atomic) {
    execute(command);
  } else if (command.code == UTOFU_SUCCESS) {
    const std::size_t piece = std::max(kLeastPiece, command.length / kPieces);
    const std::size_t length = std::min(piece, command.length - command.moved);
    const bool upwards = command.is(UTOFU_ONESIDED_FLAG_STRONG_ORDER) || settings().delay == 0;
    const std::size_t at = upwards ? command.moved : command.length - command.moved - length;
    if (move_data(command, at, length)) command.moved += length;
    if (at != 0 && !upwards) ++counts().torn;
  }
  if (command.code == UTOFU_SUCCESS && command.kind != Kind::atomic && command.moved < command.length)
    return false;
  command.sent = true;
  ++ended_;
  const bool by_tcq = command.code <= UTOFU_ERR_TCQ_OTHER && command.code > UTOFU_ERR_MRQ_OTHER;
  if (by_tcq || command.is(UTOFU_ONESIDED_FLAG_TCQ_NOTICE))
    sent_.push_back({command.cbdata, by_tcq ? command.code : UTOFU_SUCCESS});
  return true;
}

bool Vcq::move_data(Command& command, std::size_t at, std::size_t length) {
  thread_local std::vector<std::byte> between;
  between.resize(length);
  Steering local = command.local;
  local.offset += at;
  Steering remote = command.remote;
  remote.offset += at;
  if (command.kind == Kind::get) {
    command.code = read_from(*command.to, remote, between.data(), length);
    if (command.code == UTOFU_SUCCESS)
      command.code = local_code(write_to(shared_, local, between.data(), length, false));
  } else {
    if (command.inlined) {
      std::copy_n(command.data.data() + at, length, between.data());
    } else {
      command.code = local_code(read_from(shared_, local, between.data(), length));
    }
    const bool last = at + length == command.length;
    if (command.code == UTOFU_SUCCESS)
      command.code = write_to(*command.to, remote, between.data(), length,
                              last && command.is(UTOFU_ONESIDED_FLAG_STRONG_ORDER));
  }
  return command.code == UTOFU_SUCCESS;
}

// Atomics of a node are so among themselves, not against its processors.
void Vcq::execute(Command& command) {
  SharedNode& node = emulator::shared()->nodes[command.to->node];
  const std::lock_guard lock(node.atomics);
  uint64_t old = 0;
  command.code = read_from(*command.to, command.remote, &old, command.length);
  if (command.code != UTOFU_SUCCESS) return;
  const uint64_t value = result_of(command, old);
  command.code = write_to(*command.to, command.remote, &value, command.length, true);
  command.old_value = old;
}

// The notices of both sides.
void Vcq::finish(std::list<Command>::iterator command) {
  const unsigned depth = settings().mrq_depth;
  const bool good = command->code == UTOFU_SUCCESS;
  const bool by_tcq = command->code <= UTOFU_ERR_TCQ_OTHER && command->code > UTOFU_ERR_MRQ_OTHER;
  utofu_mrq_notice notice{};
  notice.edata = command->edata;
  notice.rmt_value = command->old_value;
  notice.lcl_stadd = command->local_stadd;
  notice.rmt_stadd = command->remote_stadd;
  if (good && command->is(UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)) {
    notice.notice_type = notice_type(command->kind, true);
    notice.vcq_id = shared_.id();
    notify(*command->to, notice, UTOFU_SUCCESS, depth);
  }
  if (!by_tcq && (command->is(UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE) || !good)) {
    notice.notice_type = notice_type(command->kind, false);
    notice.vcq_id = command->to->id();
    notify(shared_, notice, command->code, depth);
  }
  const auto earlier = [&](const Command& other) { return other.to == command->to; };
  if (std::any_of(commands_.begin(), command, earlier)) ++counts().overtaken;
  commands_.erase(command);
}

}  // namespace emulator
