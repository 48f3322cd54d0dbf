# SPDX-License-Identifier: BSD-3-Clause
"""LogGPS from end to end: omni model. One file for each command; commands.py joins them."""
