# SPDX-License-Identifier: BSD-3-Clause
"""The commands of omni model."""

from __future__ import annotations

import typer

from omnipgas.model.fit import fit_command

app = typer.Typer(
    help="LogGPS: measures machines, traces MPI programs, and says where their time goes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("fit")(fit_command)


@app.callback()
def model() -> None:
    """A group, also while it has one command."""
