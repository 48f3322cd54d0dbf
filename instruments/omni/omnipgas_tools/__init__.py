# SPDX-License-Identifier: BSD-3-Clause
"""The instruments of OmniPGAS: the command omni, which measures, traces, models and solves.

The layer itself in Python is the package omnipgas (bindings/python).
"""

from pathlib import Path

__version__ = "0.1.0"
CHECKOUT = Path(__file__).absolute().parents[3]  # the source tree, unless this is an installation
