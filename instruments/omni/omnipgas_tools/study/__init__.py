# SPDX-License-Identifier: BSD-3-Clause
"""omni study: the papers' studies."""
