# SPDX-License-Identifier: BSD-3-Clause
"""The instruments of OmniPGAS: the command omni, which measures, traces, models and solves.

The layer itself in Python is the package omnipgas (bindings/python).
"""

import re
from importlib import metadata
from pathlib import Path

CHECKOUT = Path(__file__).absolute().parents[3]  # the source tree, unless this is an installation


def _version() -> str:
    """That of the source tree, where ompl.h states it, or of the package as it was installed."""
    header = CHECKOUT / "include/omnipgas/ompl.h"
    if header.is_file():
        return str(re.findall(r'OMPL_VERSION_TEXT "(.+)"', header.read_text())[0])
    try:
        return metadata.version("omnipgas-tools")
    except metadata.PackageNotFoundError:  # a copy that nothing installed
        return "unknown"


__version__ = _version()
