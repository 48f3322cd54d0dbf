# SPDX-License-Identifier: BSD-3-Clause
"""omni model: LogGPS from end to end, a command a file."""

import typer

from omnipgas_tools.commands.model.export import export
from omnipgas_tools.commands.model.fit import fit
from omnipgas_tools.commands.model.predict import predict
from omnipgas_tools.commands.model.report import report
from omnipgas_tools.commands.model.show import show
from omnipgas_tools.commands.model.study import study
from omnipgas_tools.commands.model.timeline import timeline
from omnipgas_tools.commands.model.trace import trace
from omnipgas_tools.commands.model.validate import validate
from omnipgas_tools.commands.model.whatif import whatif

app = typer.Typer(
    help="LogGPS: measures machines, traces MPI programs, and says where their time goes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (fit, trace, show, predict, report, timeline, export, whatif, validate, study):
    app.command(command.__name__)(command)
