// SPDX-License-Identifier: BSD-3-Clause
#include "util/settings.hpp"
