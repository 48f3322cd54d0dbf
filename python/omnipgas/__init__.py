# SPDX-License-Identifier: BSD-3-Clause
"""The instruments of OmniPGAS: the omni command and what it is made of."""

__version__ = "0.1.0"
