# SPDX-License-Identifier: BSD-3-Clause
"""LogGPS from end to end: what omni model does."""
