// SPDX-License-Identifier: BSD-3-Clause
// Every OMPL_* variable of the library: one object, one table. The manual and ompl-info are generated
// from describe(); nothing else calls secure_getenv() for settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "util/log.hpp"

namespace ompl {

// psm2 is among them where there is a card of its kind.
std::string default_conduits();

struct Settings {
  // Layer
  std::size_t segment_size = std::size_t{16} << 30;  // capacity of a rank's segment, bytes
  unsigned endpoints = 0;                            // endpoint pool size; 0: choose
  std::size_t endpoint_memory = 0;                   // bytes that a rank's connections may take; 0: any
  std::string conduits = default_conduits();         // which may be used, in order of preference
  std::string node_id;                               // overrides the node's identity
  std::string launcher = "auto";                     // auto, single, pmi1, pmix, mpi
  std::string pmix_library;                          // libpmix to load; "": the launcher's own
  unsigned credits = 256;                            // unacknowledged signal records per slot and peer
  std::size_t call_memory = std::size_t{2} << 20;    // bytes of a rank's segment for remote calls to it
  std::string progress = "none";                     // none, thread, auto: service of other ranks
  std::string pack = "auto";  // auto, always, never: small pieces of strided data
  // Collectives
  std::size_t coll_memory = std::size_t{16} << 20;  // bytes of a rank's segment for all its teams
  std::string coll_check = "0";                     // "1": members compare what they call
  std::string coll_progress = "none";               // none, ..., node, auto: of new teams
  std::string coll_scheduler = "lock-free";         // lock-free; for measurement only: locked-queue
  std::string tuner = "0";                          // "1": algorithms left open are tuned
  std::string tuner_explain = "0";                  // "1": the first member says what is decided
  std::string tuner_table;                          // file; "": one in cache_folder; "none": no file
  // Waiting
  int spin = -1;    // polls before the first yield; -1: choose by the load on the cores
  int yields = -1;  // yields before sleeping; -1: choose
  std::string on_peer_death = "error";  // error, abort, ignore
  double hang_report = 0;               // seconds blocked until a report is printed; 0: never
  // Memory
  std::string huge_pages = "auto";               // auto, never
  std::string gpu = "stage";                     // stage, refuse, off: of local buffers of a GPU
  std::size_t gpu_chunk = std::size_t{1} << 20;  // bytes of pinned memory that a staged piece takes
  // Fabric
  std::string verbs_device;               // "": the fastest active port; "NAME" or "NAME:PORT"
  int verbs_gid = -1;                     // index; -1: the best one
  std::string verbs_transport = "auto";   // auto, rc, xrc, dc
  std::size_t verbs_segment = 128 << 10;  // bytes of a long put's segment
  unsigned verbs_stripe = 4;              // endpoints that a long put goes over at most; 0: whole
  std::size_t utofu_segment = 256 << 10;  // bytes of a long put's segment
  unsigned utofu_stripe = 6;              // endpoints that a long put goes over at most; 0: whole
  std::string ofi_provider;               // "" : the first usable of our preference list
  std::string net_interface;              // interfaces, addresses, subnets of IP to use; "": all
  std::string ofi_interface;              // the former name of net_interface, used if that is not set
  double connect_timeout = 20;            // seconds to try a rank's addresses for
  // Diagnosis
  std::string statistics = "0";  // "1": contexts count their operations
  log::Level log_level = log::Level::warn;

  // Not a variable of ours: the user's folder for what can be made again; "": there is none.
  std::string cache_folder;
  std::string psm2_devices;  // PSM2_DEVICES, which libpsm2 reads too

  // Whether OMPL_CONDUITS names it.
  [[nodiscard]] bool names_conduit(const std::string& name) const {
    return ("," + conduits + ",").find("," + name + ",") != std::string::npos;
  }
  [[nodiscard]] const std::string& interfaces() const {
    return net_interface.empty() ? ofi_interface : net_interface;
  }
  [[nodiscard]] int64_t connect_timeout_ms() const {
    return static_cast<int64_t>(connect_timeout * 1000);
  }

  struct Row {
    std::string name;           // OMPL_...
    std::string type;           // a number with its range, as in "size from 1 to 64T"; "text",
                                // choices "a|b|c", or "list of a|b|c"
    std::string default_value;  // as one would write it
    std::string value;          // now
    bool from_environment = false;
    std::string text;  // one line for the manual
  };
  using Lookup = std::function<const char*(const char* name)>;

  // Reads every variable through `lookup` (secure_getenv by default). An unusable value is OMPL_ERR_ARG, with
  // one line naming the variable, the value and what is accepted; *out is then untouched.
  static int read(Settings* out, const Lookup& lookup = {});

  // Reads every usable variable; others keep their defaults. Returns the line that read() would fail with for each of those.
  static std::vector<std::string> read_usable(Settings* out, const Lookup& lookup = {});

  // A variable OMPL_* of the environment that is not in the table.
  struct Stranger {
    std::string name;
    std::string meant;  // the name of ours that it seems to be, mistyped; "": it resembles none
  };
  static std::vector<Stranger> strangers();

  // Lets OMPL_LOG count from now on, if it is usable: for errors before, or of, read().
  static void apply_log_level(const Lookup& lookup = {});

  // Warns about variables of the environment that look like a mistyped name of ours.
  static void warn_of_near_misses();

  // All variables in the order above, with the values of this object.
  [[nodiscard]] std::vector<Row> describe(const Lookup& lookup = {}) const;
};

}  // namespace ompl
