#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""completion.py tool OUT PROGRAM... | omni OUT

Writes the completion of programs in bash below OUT, a file for each, which the shell loads when a user first types the
program's name. Tools tell their options by --help, omni by the objects behind it, so there is no list to keep up to
date. Options, subcommands, and values that are one of several words are completed; all else are files.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIMIT_S = 60
OPTION = re.compile(r"^  (-\S+)(?: (\S+))?")
TEMPLATE = """# Completion of {name} in bash, made by scripts/completion.py.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} path={name} i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {below}) path+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path ${{COMP_WORDS[COMP_CWORD - 1]}}" in
    {values}
  esac
  case $path in
    {words}
  esac
}}
complete -o default -F {function} {name}
"""
OFFER = "COMPREPLY=($(compgen -W '{words}' -- \"$word\"))"


@dataclass
class Command:
    """What may stand behind a command: its options, each with the words that its value may be, and subcommands."""

    options: dict[str, list[str]] = field(default_factory=dict)
    below: dict[str, "Command"] = field(default_factory=dict)

    def every(self, path: str) -> Iterator[tuple[str, "Command"]]:
        """This command and those below it, each with its name."""
        yield path, self
        for name, command in self.below.items():
            yield from command.every(f"{path} {name}")


def choices(kind: str | None) -> list[str]:
    """The words that the value of an option may be, where its help names them: none|core|auto."""
    return kind.split("|") if kind and re.fullmatch(r"[a-z\d-]+(\|[a-z\d-]+)+", kind) else []


def of_tool(*command: str) -> Command:
    """By what --help prints."""
    run = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, timeout=LIMIT_S)
    found = Command()
    _, _, options = run.stdout.partition("\nOptions:\n")
    for line in options.split("\n\n")[0].splitlines():
        if match := OPTION.match(line):
            names = re.split(r", ?", match[1])
            found.options |= {name: choices(match[2]) for name in names}
    _, _, below = run.stdout.partition("\nSubcommands:\n")
    for name in re.findall(r"^  (\w\S*)  ", below.split("\n\n")[0], re.MULTILINE):
        found.below[name] = of_tool(*command, name)
    return found


def of_click(command: Any, name: str = "omni") -> Command:
    """By the objects of a program that Typer parses for, the form of every version: what their help would print."""
    context = command.context_class(command, info_name=name)
    found = Command()
    for parameter in command.get_params(context):
        said = (parameter.get_help_record(context) or ("",))[0]
        kind = said.rpartition(" ")[2].strip("[]")
        found.options |= {word: choices(kind) for word in re.findall(r"--?[a-z][\w-]*", said)}
    for below, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            found.below[below] = of_click(each, below)
    return found


def script(name: str, command: Command) -> str:
    """The completion of a program as a script of bash."""
    every = dict(command.every(name))
    values, words = [], []
    for path, each in every.items():
        for option, allowed in each.options.items():
            if allowed:
                values.append(f'"{path} {option}") {OFFER.format(words=" ".join(allowed))} && return ;;')
        options = f"-*) {OFFER.format(words=' '.join(sorted(each.options)))} ;;"
        below = f" *) {OFFER.format(words=' '.join(sorted(each.below)))} ;;" if each.below else ""
        words.append(f'"{path}") case $word in {options}{below} esac ;;')
    return TEMPLATE.format(
        name=name, function=f"_{re.sub(r'[^a-z]', '_', name)}",
        below=" | ".join(f'"{path}"' for path in list(every)[1:]) or '""',
        values="\n    ".join(values) or '"") ;;', words="\n    ".join(words),
    )  # fmt: skip


def main(kind: str, out: str, *programs: str) -> None:
    """Writes the files."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "omni":
        import typer.main
        from omnipgas_tools.cli import app

        (folder / "omni").write_text(script("omni", of_click(typer.main.get_command(app))))
    for program in programs:
        name = Path(program).name
        (folder / name).write_text(script(name, of_tool(program)))


if __name__ == "__main__":
    main(*sys.argv[1:])
