# SPDX-License-Identifier: BSD-3-Clause
"""omni model: LogGPS from end to end, a command a file."""

from importlib import import_module

from omnipgas_tools.options import group

app = group("LogGPS: measures machines, traces MPI programs, and says where their time goes.", no_args_is_help=True)
for name in ("fit", "trace", "show", "predict", "report", "timeline", "export", "whatif", "validate", "study"):
    app.command(name)(getattr(import_module(f"{__name__}.{name}"), name))
