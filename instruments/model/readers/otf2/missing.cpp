// SPDX-License-Identifier: BSD-3-Clause
// In the place of all that needs OTF2, where it was not there to build with.
#include "common/input_error.hpp"
#include "model/readers/otf2/trace.hpp"
#include "model/writers/otf2_writer.hpp"

namespace ompl::model {

namespace {
constexpr char kMissing[] =
    "{}: this was built without OTF2: install libotf2-trace-dev and build again";
}

std::unique_ptr<Trace> read_otf2(const std::string& anchor) { refuse(kMissing, anchor); }

Otf2Losses write_otf2(const std::string& /*recording*/, const std::string& anchor) {
  refuse(kMissing, anchor);
}

}  // namespace ompl::model
