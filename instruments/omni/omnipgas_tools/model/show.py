# SPDX-License-Identifier: BSD-3-Clause
"""A call of a trace as a line of text."""

from typing import Any

NONE = -3  # a peer that is none


def text(line: dict[str, Any], start: int) -> str:
    """A call: rank.thread, microseconds since the first call shown, duration, name, what it was given."""
    words = [f"peer {line['peer']}" if line["peer"] != NONE else "", f"tag {line['tag']}" if line["tag"] else ""]
    words += [f"{key} {line[key]}" for key in ("comm", "request", "bytes") if line[key]]
    words += line["flags"]
    words += [f"{key} {line[key]}" for key in ("ids", "sent", "received") if key in line]
    words += [f"[{one['peer']} tag {one['tag']} bytes {one['bytes']}]" for one in line.get("matches", [])]
    at, took = (line["begin"] - start) / 1000, (line["end"] - line["begin"]) / 1000
    name = line.get("name", line["call"])
    return f"{line['rank']:5}.{line['thread']:<3} {at:14.3f} {took:12.3f}  {name:20} " + ", ".join(filter(None, words))
