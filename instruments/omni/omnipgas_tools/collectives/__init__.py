# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of MPI programs by this layer: the interposer libompl-coll."""
