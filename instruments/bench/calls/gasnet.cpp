// SPDX-License-Identifier: BSD-3-Clause
// Active messages of GASNet-EX in its PAR mode: up to 8 bytes as arguments of a short one, more as the payload of a medium
// one. See calls.hpp.
#include <gasnetex.h>

#include <array>
#include <cstring>

#include "adapters/gasnet_join.hpp"
#include "calls.hpp"

namespace {

using bench::check;

class Gasnet : public bench::Calls {
 public:
  Gasnet(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : Calls(setup), team_(bench::joined) {
    std::array handlers{
        entry(kShort, reinterpret_cast<gex_AM_Fn_t>(run_short), GEX_FLAG_AM_SHORT, 3),
        entry(kMedium, reinterpret_cast<gex_AM_Fn_t>(run_medium), GEX_FLAG_AM_MEDIUM, 1)};
    check(gex_EP_RegisterHandlers(gex_TM_QueryEP(team_), handlers.data(), handlers.size()),
          "gex_EP_RegisterHandlers");
    if (gex_TM_QuerySize(team_) != 2) throw std::runtime_error("needs two ranks");
    rank_ = static_cast<int>(gex_TM_QueryRank(team_));
    gex_Event_Wait(gex_Coll_BarrierNB(team_, 0));
  }
  ~Gasnet() { bench::leave(team_); }

  [[nodiscard]] bench::Description describe() const {
    return {bench::gasnet_version(),
            std::string("conduit ") + GASNET_CONDUIT_NAME_STR,
            std::nullopt,
            {{"thread level asked", "GASNET_PAR"}, {"thread level granted", "GASNET_PAR"}}};
  }

  void call(int i, std::size_t bytes) {
    if (bytes != kArguments * sizeof(gex_AM_Arg_t))
      return check(gex_AM_RequestMedium1(team_, peer(), kMedium, source(i), bytes, GEX_EVENT_NOW, 0, i),
                   "gex_AM_RequestMedium1");
    std::array<gex_AM_Arg_t, kArguments> words{};
    std::memcpy(words.data(), source(i), bytes);
    check(gex_AM_RequestShort3(team_, peer(), kShort, 0, i, words[0], words[1]),
          "gex_AM_RequestShort3");
  }
  void take(int i) {
    window_.wait(i, [] { gasnet_AMPoll(); });
  }

 private:
  static constexpr gex_AM_Index_t kShort = GEX_AM_INDEX_BASE, kMedium = kShort + 1;
  static constexpr std::size_t kArguments = 2;  // of a short one, beside the channel

  gex_AM_Entry_t entry(gex_AM_Index_t index, gex_AM_Fn_t run, gex_Flags_t kind, unsigned arguments) {
    return {.gex_index = index,
            .gex_fnptr = run,
            .gex_flags = GEX_FLAG_AM_REQUEST | kind,
            .gex_nargs = arguments,
            .gex_cdata = this,
            .gex_name = "arrive"};
  }
  static const Gasnet& self(gex_Token_t token) {
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_ENTRY);
    return *static_cast<const Gasnet*>(info.gex_entry->gex_cdata);
  }
  static void run_short(gex_Token_t token, gex_AM_Arg_t channel, gex_AM_Arg_t first,
                        gex_AM_Arg_t second) {
    const std::array words{first, second};
    self(token).arrive(channel, words.data(), sizeof words);
  }
  static void run_medium(gex_Token_t token, void* payload, std::size_t bytes, gex_AM_Arg_t channel) {
    self(token).arrive(channel, payload, bytes);
  }
  [[nodiscard]] gex_Rank_t peer() const { return static_cast<gex_Rank_t>(1 - rank_); }

  gex_TM_t team_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::after_joining(argc, argv, [&] { return bench::calls_main<Gasnet>(argc, argv); });
}
