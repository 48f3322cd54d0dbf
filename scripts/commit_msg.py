#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""commit_msg.py FILE | --range FIRST..LAST

Says what is wrong with the message of a commit, in FILE (as git's hook commit-msg has it) or of each commit of a range.
The exit status is 1 if anything is.
"""

import re
import subprocess
import sys
from pathlib import Path

SUBJECT = 72  # characters
LINE = 100
PREFIX = re.compile(r"[a-z0-9_/,. +-]+: \S")
LIMIT_S = 60


def faults(message: str) -> list[str]:
    """What is wrong with one message."""
    lines = [line for line in message.rstrip().splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    found = []
    if re.match(r"(fixup|squash|amend)! ", subject):
        found.append("a fixup is to be squashed before it is published")
    if not PREFIX.match(subject):
        found.append("the subject begins with what it changes and a colon, as in 'core: wait for ...'")
    if len(subject) > SUBJECT:
        found.append(f"the subject has {len(subject)} characters, more than {SUBJECT}")
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    if len(lines) > 1 and lines[1]:
        found.append("an empty line is missing between the subject and the body")
    if not any(lines[2:]):
        found.append("a body is missing: it says why")
    found += [
        f"a line of the body has {len(line)} characters, more than {LINE}" for line in lines[2:] if len(line) > LINE
    ]
    return found


def messages(span: str) -> dict[str, str]:
    """Those of a range, by commit."""
    command = ["git", "log", "--no-merges", "--format=%h%x00%B%x01", span]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
    return {one.split("\0")[0].strip(): one.split("\0")[1] for one in text.split("\1") if "\0" in one}


def main(arguments: list[str]) -> int:
    """The exit status."""
    if len(arguments) == 2 and arguments[0] == "--range":
        given = messages(arguments[1])
    elif len(arguments) == 1 and not arguments[0].startswith("-"):
        given = {"this commit": Path(arguments[0]).read_text(encoding="utf-8")}
    else:
        sys.exit(__doc__)
    wrong = {name: faults(text) for name, text in given.items()}
    for name, found in wrong.items():
        for fault in found:
            print(f"{name}: {fault}", file=sys.stderr)
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
