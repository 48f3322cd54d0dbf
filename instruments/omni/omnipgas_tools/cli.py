# SPDX-License-Identifier: BSD-3-Clause
"""The omni command: its commands, each a file of commands/."""

import codecs
import errno
import inspect
import io
import locale
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import typer

from omnipgas_tools import __version__
from omnipgas_tools.options import group

COMMANDS = ("halo", "overlap", "tasks", "report", "memory", "rank", "cg", "spmv", "partition", "pingpong", "rate",
            "endpoints", "figures", "doctor", "collectives")  # fmt: skip
GROUPS = ("model", "libs", "study", "tune")

EXAMPLES = """\b
Examples:
  omni pingpong --quick                      latency of a put and its flag, by every library that is built
  omni doctor                                what keeps this machine from its best speed
  omni model predict TRACE --params myrinet  the time that a traced MPI program takes on another machine
"""

app = group(
    "Measures communication layers with threads, each beside a hand-written baseline.",
    no_args_is_help=True,
    add_completion=False,
    epilog=EXAMPLES,
)


def wanted(program: str, arguments: Sequence[str]) -> Sequence[str]:
    """The command that is run: loading all of them takes as long again. Help and other programs see all."""
    run = Path(program).name in ("omni", Path(__file__).name)
    return arguments[:1] if run and arguments[:1] and arguments[0] in (*COMMANDS, *GROUPS) else (*COMMANDS, *GROUPS)


for name in wanted(sys.argv[0], sys.argv[1:]):
    module = import_module(f"omnipgas_tools.commands.{name}")
    if name in GROUPS:
        app.add_typer(module.app, name=name)
    else:
        app.command(name)(module.command)
    if name == "figures":
        app.command("targets", hidden=True)(module.command)


def summarize(commands: typer.Typer) -> None:
    """Lists of commands show whole first sentences, which would else end after 45 characters."""
    for command in commands.registered_commands:
        command.short_help = first_sentence(inspect.getdoc(command.callback) or "")
    for below in commands.registered_groups:
        if below.typer_instance is not None:
            below.short_help = first_sentence(str(below.typer_instance.info.help))
            summarize(below.typer_instance)


def first_sentence(text: str) -> str:
    """On one line."""
    return re.split(r"(?<=\.)\s|\n\n", text, maxsplit=1)[0].replace("\n", " ")


summarize(app)


def show_version(wanted: bool) -> None:
    """Of --version."""
    if wanted:
        typer.echo(f"omni {__version__}")
        raise typer.Exit


VERSION = typer.Option(False, "--version", is_eager=True, callback=show_version, help="Prints the version and ends.")


@app.callback()
def options(version: bool = VERSION) -> None:
    """Measures communication layers with threads, each beside a hand-written baseline."""


# What a full disk, a quota, a limit on sizes or a broken device says.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


def main() -> None:
    """Entry point. SIGTERM is taken as Ctrl-C: what was started is ended, what was measured is kept."""
    use_utf8()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    refuse_control_characters(sys.argv[1:])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, every child seems to end well
    try:
        try:
            app()
        finally:
            silence_broken_pipe()
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        sys.exit(f"omni: cannot write {error.filename or 'the results or the output'}: {error.strerror}")


def use_utf8() -> None:
    """Files are UTF-8 in every locale; what a terminal of another encoding cannot show becomes a question mark."""
    encoding = locale.getencoding()
    if codecs.lookup(encoding).name == "utf-8":
        return
    if not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors="replace")


def refuse_control_characters(arguments: Sequence[str]) -> None:
    """Names of files and libraries are printed, and a terminal obeys such characters. Ends the program."""
    for given in arguments:
        if any(unicodedata.category(character) == "Cc" and character not in "\t\n" for character in given):
            sys.exit(f"omni: the argument {given!a} has control characters; rename the file")


def silence_broken_pipe() -> None:
    """A reader that has seen enough is no failure to tell of at the end, when Python flushes."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries again at its very end
        if not isinstance(error, BrokenPipeError):
            raise


if __name__ == "__main__":
    main()
