# SPDX-License-Identifier: BSD-3-Clause
"""Targets of what stands on the layer: OpenSHMEM, coarrays, tasks."""
