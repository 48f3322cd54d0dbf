// SPDX-License-Identifier: BSD-3-Clause
// Which signals each wait of this layer took, where not every wait takes one: with values, comparisons or atomics.
//
// The recorded signals of a word are applied to it in the order in which their calls began, from 0 on; a wait takes those, not
// yet taken, up to the first after which its condition holds. So it takes none if what it waits for was there. It takes none
// either if no signal makes its condition hold: then the program wrote the word itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/reader/reader.hpp"

namespace ompl::model {

class Signals {
 public:
  // Of all ranks, in their order.
  explicit Signals(std::span<const trace::RankTrace* const> ranks);

  // Whether some call of the rank waits for this word of its own; words by number (trace::Word).
  [[nodiscard]] bool is_waited_for(uint32_t rank, uint32_t word) const;
  // How many signals were taken by the waits of one thread, from 0 on, for a word; one after the other.
  [[nodiscard]] std::span<const uint32_t> taken_by(uint32_t rank, std::size_t thread,
                                                   uint32_t word) const;

 private:
  struct Signal {
    int64_t time;
    trace::Word word;
  };
  struct Wait {
    int64_t time;
    std::size_t thread;
    trace::Word word;
  };
  struct Uses {
    std::vector<Signal> signals;
    std::vector<Wait> waits;
  };
  using Place = std::pair<uint32_t, uint32_t>;  // rank, word

  void add(const trace::RankTrace& trace, std::size_t thread, const trace::CallView& view);
  void settle(const Place& place, Uses& uses);

  std::map<Place, Uses> uses_;
  std::map<std::tuple<uint32_t, std::size_t, uint32_t>, std::vector<uint32_t>> taken_;
};

}  // namespace ompl::model
