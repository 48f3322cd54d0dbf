// SPDX-License-Identifier: BSD-3-Clause
// PSM2, the interface of Omni-Path, loaded when a network is needed and not before. What of it we call is declared here, after
// its public headers psm2.h and psm2_am.h (version 2.2, ABI of libpsm2.so.2), so that the tree builds without them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ompl::conduit::psm2 {

struct PsmEndpoint;  // opaque
struct PsmAddress;   // of another endpoint, as one of ours knows it
using PsmError = int;
using PsmUuid = std::array<unsigned char, 16>;
using PsmEpid = uint64_t;
using PsmToken = void*;  // of the message that a handler is called for

inline constexpr PsmError kPsmOk = 0;
inline constexpr PsmError kPsmNoProgress = 1;
inline constexpr PsmError kPsmInternalError = 8;
inline constexpr PsmError kPsmTimeout = 11;
inline constexpr PsmError kPsmTooManyEndpoints = 12;

struct PsmOpenOptions {
  int64_t timeout_ns;
  int unit;
  int affinity;  // 0: the process's processors are left alone
  int shm_mbytes;
  int sendbufs;
  uint64_t network_key;
  int port;
  int service_level;
  uint64_t service_id;
  int path_resolution;
  int send_descriptors;
  int immediate_size;
};

struct PsmMessageLimits {
  uint32_t max_handlers;
  uint32_t max_arguments;
  uint32_t max_request;  // bytes of data
  uint32_t max_reply;
};

using PsmHandler = int (*)(PsmToken token, uint64_t* arguments, int count, void* data, uint32_t length,
                           void* context);
using PsmErrorHandler = PsmError (*)(PsmEndpoint* endpoint, PsmError error, const char* text,
                                     void* token);

struct PsmOpened {
  PsmEndpoint* endpoint = nullptr;
  PsmEpid number = 0;
  PsmMessageLimits limits{};
};

// Which devices libpsm2 is to use: PSM2_DEVICES.
enum class Devices : uint8_t {
  fabric,  // with hfi, a card
  memory,  // self and shm: the processes of one host, without a card
};

// The functions of PSM2 that we call. Once loaded it stays, and is never finalized: it cannot be initialised twice.
struct Library {
  PsmError (*init)(int* major, int* minor) = nullptr;
  PsmError (*error_register_handler)(PsmEndpoint*, PsmErrorHandler) = nullptr;
  const char* (*error_get_string)(PsmError) = nullptr;
  PsmError (*ep_open_opts_get_defaults)(PsmOpenOptions*) = nullptr;
  PsmError (*ep_open)(const unsigned char* uuid, const PsmOpenOptions*, PsmEndpoint**,
                      PsmEpid*) = nullptr;
  PsmError (*ep_close)(PsmEndpoint*, int mode, int64_t timeout_ns) = nullptr;
  PsmError (*ep_connect)(PsmEndpoint*, int count, const PsmEpid*, const int* mask, PsmError* errors,
                         PsmAddress** addresses, int64_t timeout_ns) = nullptr;
  PsmError (*poll)(PsmEndpoint*) = nullptr;
  PsmError (*am_get_parameters)(PsmEndpoint*, PsmMessageLimits*, std::size_t,
                                std::size_t* length) = nullptr;
  PsmError (*am_register_handlers)(PsmEndpoint*, const PsmHandler*, int count, void** contexts,
                                   int* numbers) = nullptr;
  PsmError (*am_get_source)(PsmToken, PsmAddress**) = nullptr;
  PsmError (*am_request)(PsmAddress*, uint32_t handler, const uint64_t* arguments, int count,
                         const void* data, std::size_t length, int flags, void (*completed)(void*),
                         void* context) = nullptr;
  PsmError (*am_reply)(PsmToken, uint32_t handler, const uint64_t* arguments, int count,
                       const void* data, std::size_t length, int flags, void (*completed)(void*),
                       void* context) = nullptr;

  // Loads and initialises it. OMPL_ERR_UNSUPPORTED, with the reason, if `file` cannot be.
  int load(Devices devices, const char* file = "libpsm2.so.2");

  // Opens an endpoint, which leaves errors to us (last_error()). Several of one process have different numbers.
  // Any thread; one at a time goes through, since libpsm2 keeps the limits of messages in one place for the process, and sets
  // them to INT_MAX and then anew for every endpoint that it opens.
  int open(Devices devices, const PsmUuid& job, PsmOpened* opened) const;

  // False: PSM2_MULTI_EP forbids a second endpoint in a process. Needs no libpsm2.
  [[nodiscard]] static bool allows_several();

  // The error in words, with PSM2's own if an endpoint has told the calling thread some since this was asked last.
  [[nodiscard]] std::string text_of(PsmError error) const;

 private:
  int open_alone(Devices devices, const PsmUuid& key, PsmOpened* opened) const;
  int ask_limits(PsmOpened* opened) const;
};

// While it maps another endpoint's memory libpsm2 takes SIGSEGV and SIGBUS for a moment, and keeps in one place for the process
// what was there before: of two threads that do so at once one may put back the other's. Afterwards this puts back what
// note_signal_actions() has found there last.
void note_signal_actions();
void restore_signal_actions();

}  // namespace ompl::conduit::psm2
