// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/links.hpp"

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {
constexpr std::string_view kLeft = "it left the job";
}  // namespace

FabricLinks::FabricLinks(const SharedState& shared, const Resources& resources, uint32_t slot,
                         uint64_t least)
    : shared_(shared), resources_(resources), slot_(slot), door_(least), links_(shared.job->size) {}

uint32_t FabricLinks::target_slot(uint32_t rank) const {
  return slot_ % static_cast<uint32_t>((*shared_.peers)[rank].slots.size());
}

FabricLink& FabricLinks::add(uint32_t rank, uint32_t slot) {
  losses_.make_room(all().size() + 1);
  return links_.add(rank, slot, static_cast<uint32_t>(all().size()));
}

FabricLink& FabricLinks::prepare(uint32_t rank) {
  FabricLink* link = links_.known(rank);
  if (link == nullptr) {
    const bool reachable = !(*shared_.peers)[rank].slots.empty();
    link = &add(rank, reachable ? target_slot(rank) : 0);
    links_.use(*link);
    if (!reachable) fail(*link, OMPL_ERR_LINK, "it is not reached by this conduit");
  }
  if (!link->up && !link->waiting && link->failure == OMPL_OK) begin(*link);
  return *link;
}

Greeting FabricLinks::greeting_for(const FabricLink& link) const {
  Greeting greeting;
  greeting.rank = shared_.job->rank;
  greeting.slot = slot_;
  greeting.target_slot = link.slot;
  greeting.asked = (*shared_.peers)[link.rank].challenge;
  return greeting;
}

bool FabricLinks::is_for_us(const Greeting& greeting) const {
  const Job& job = *shared_.job;
  return greeting.magic == Greeting::kMagic && greeting.target_slot == slot_ &&
         greeting.rank < job.size && greeting.rank != job.rank &&
         greeting.slot < (*shared_.peers)[greeting.rank].slots.size();
}

bool FabricLinks::is_admissible(const Greeting& greeting) const {
  const Job& job = *shared_.job;
  return is_for_us(greeting) && greeting.is_signed(job.rank, shared_.challenge, job.secret);
}

FabricLink& FabricLinks::link_of(const Greeting& greeting) {
  if (FabricLink* const known = links_.find(greeting.rank, greeting.slot); known != nullptr)
    return *known;
  FabricLink& link = add(greeting.rank, greeting.slot);
  if (target_slot(greeting.rank) == greeting.slot) links_.use(link);
  return link;
}

void FabricLinks::came_up(FabricLink& link) {
  link.up = true;
  link.search.reset();
  link.seeking = false;
  set_waiting(link, false);
  up_.fetch_add(1, std::memory_order_relaxed);
  log::debug("ofi: endpoint {} joined to endpoint {} of rank {}", slot_, link.slot, link.rank);
}

void FabricLinks::take_down(FabricLink& link, std::string_view why) {
  if (link.up) up_.fetch_sub(1, std::memory_order_relaxed);
  link.up = false;
  link.note_why(why);
  if (!link.probing) ++probes_;
  link.probing = true;
}

void FabricLinks::set_waiting(FabricLink& link, bool waiting) {
  if (waiting != link.waiting) waiting_ += waiting ? 1 : -1;
  link.waiting = waiting;
}

// It takes nothing in any more. What is outstanding uses the memory of callers: first that has to end.
void FabricLinks::said_goodbye(uint32_t rank, uint64_t slot) {
  for (const auto& link : all()) {
    if (link->rank != rank || link->slot != slot || link->failure != OMPL_OK) continue;
    link->departed = true;
    link->note_why(kLeft);
    link->look_for_end = arch::now_ms() + kPartMs;
    if (link->window.outstanding() > 0) {
      end_outstanding(*link);
    } else {
      part_from(*link);
    }
  }
}

void FabricLinks::look_at_gone() {
  for (const auto& link : all()) {
    if (link->gone && link->failure == OMPL_OK && ++link->looks_since_gone > kLooksAtGone)
      part_from(*link);
  }
}

// A connection stays open, for the goodbye of this end.
void FabricLinks::part_from(FabricLink& link) {
  link.failure.store(OMPL_ERR_LINK, std::memory_order_release);
  link.window.close();
}

// Everything outstanding on the link counts as complete.
void FabricLinks::fail(FabricLink& link, int code, std::string_view why) noexcept {
  if (link.up) up_.fetch_sub(1, std::memory_order_relaxed);
  link.up = false;
  link.connection.reset();
  link.request.reset();
  link.search.reset();
  link.seeking = false;
  link.ask_again = 0;
  if (link.probing) --probes_;
  link.probing = false;
  set_waiting(link, false);
  link.note_why(link.departed ? kLeft : why);
  if (link.departed) code = OMPL_ERR_LINK;
  if (find(link.rank) != &link && !link.departed) losses_.add(link.rank, code, link.why);
  link.failure.store(code, std::memory_order_release);
  link.window.close();
  link.confirmed = link.copied;
  log::info("ofi: link of endpoint {} to endpoint {} of rank {}: {}", slot_, link.slot, link.rank,
            link.why);
}

std::string FabricLinks::describe() const {
  return fmt::format("{} links", up_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::ofi
