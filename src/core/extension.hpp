// SPDX-License-Identifier: BSD-3-Clause
// What is built on a runtime, lives with it, and must end before it does.
#pragma once

namespace ompl {

class Context;

class Extension {
 public:
  Extension() = default;
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;
  virtual ~Extension() = default;  // ends its threads; may be all that happens, without finish()

  // The first part of ompl_finalize(): completes what is under way. Collective, if the extension is on every rank.
  virtual int finish(Context& context) = 0;
};

}  // namespace ompl
