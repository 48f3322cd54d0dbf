# SPDX-License-Identifier: BSD-3-Clause
"""Task Bench: smallest tasks that keep the cores busy, of this layer's tasks and of others."""
