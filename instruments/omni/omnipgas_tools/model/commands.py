# SPDX-License-Identifier: BSD-3-Clause
"""The commands of omni model."""

from __future__ import annotations

import typer

from omnipgas_tools.model.export import export
from omnipgas_tools.model.fit.command import fit_command
from omnipgas_tools.model.predict import predict
from omnipgas_tools.model.report import report, timeline
from omnipgas_tools.model.show import show
from omnipgas_tools.model.study import study
from omnipgas_tools.model.trace import trace
from omnipgas_tools.model.validate import validate
from omnipgas_tools.model.whatif import whatif

app = typer.Typer(
    help="LogGPS: measures machines, traces MPI programs, and says where their time goes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("fit")(fit_command)
app.command()(trace)
app.command()(show)
app.command()(predict)
app.command()(report)
app.command()(timeline)
app.command()(export)
app.command()(whatif)
app.command()(validate)
app.command()(study)
