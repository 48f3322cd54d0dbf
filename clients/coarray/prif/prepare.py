# SPDX-License-Identifier: BSD-3-Clause
"""Caffeine's Fortran as it is compiled here: its errors go to STAT=, failed images are known, locks and critical
constructs work. The copy in the build folder is edited by the rules of EDITS; files of the folder fortran take the
place of those of Caffeine of the same name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWN = Path(__file__).resolve().parent / "fortran"
SETTLE = "    call settle(stat, errmsg, errmsg_alloc)\n"
CHECKED = "    call_assert(team_check(current_team))\n"
NEXT = "  end procedure\n\n  module procedure "
DONE = "    if (present(stat)) stat = 0\n"
TEAM = "current_team%info%gex_team)\n"
SYNC = "call caf_sync_team(current_team%info%gex_team)"


class SourceError(Exception):
    """A checkout of another version of Caffeine."""


@dataclass(frozen=True)
class Edit:
    """A text of a file, which stands there `times` times, and what takes its place."""

    file: str
    old: str
    new: str
    times: int = 1


def query(name: str, function: str) -> str:
    """The answer to an inquiry, in the team that is given or the current one."""
    answers = (f"      {name} = {function}{team}%info%gex_team)\n" for team in ("team", "current_team"))
    return "    if (present(team)) then\n" + "    else\n".join(answers) + "    end if\n"


# What Caffeine's procedures call has kept the error, which settle() hands over; before it they said 0 in any case.
# Where a procedure calls another one without STAT=, the error of that one must not end the image.
EDITS = (
    Edit("prif_private_s.F90", "  use assert_m\n", "  use assert_m\n  use ompl_prif\n"),
    Edit("prif_private_s.F90", "    call prif_co_broadcast(current_team%info%child_heap_info, 1)\n",
         "    call ompl_prif_tell(c_loc(current_team%info%child_heap_info), &\n"
         f"      int(storage_size(current_team%info%child_heap_info) / 8, c_size_t), {TEAM}"),
    Edit("events_s.F90", "(event_var_ptr, count) \n\n" + DONE, "(event_var_ptr, count)\n    call settle(stat)\n"),
    Edit("events_s.F90", DONE, SETTLE, 3),
    Edit("atomic_s.F90", "    if (present(stat)) stat = 0; \\\n", "    call settle(stat); \\\n"),
    Edit("coarray_access_s.F90", DONE, SETTLE, 5),
    Edit("co_broadcast_s.F90", TEAM, TEAM + SETTLE, 2),
    Edit("co_sum_s.F90", TEAM, TEAM + SETTLE),
    Edit("co_min_s.F90", TEAM, TEAM + SETTLE),
    Edit("co_max_s.F90", TEAM, TEAM + SETTLE),
    Edit("co_reduce_s.F90", TEAM, TEAM + SETTLE, 2),
    Edit("allocation_s.F90", "    call prif_sync_memory !", "    call caf_sync_memory !"),
    Edit("allocation_s.F90", "    call prif_co_sum(block_offset)\n", f"    call ompl_prif_agree(block_offset, {TEAM}"),
    Edit("allocation_s.F90", "call prif_sync_all !", SYNC + " !", 2),
    Edit("allocation_s.F90", CHECKED + "  end subroutine\n", CHECKED + SETTLE + "  end subroutine\n"),
    Edit("allocation_s.F90", "      allocated_memory = mem\n", "      allocated_memory = mem\n  " + DONE),
    Edit("allocation_s.F90", DONE + "    if (caf_have", "    if (caf_have"),
    Edit("allocation_s.F90", f"{CHECKED}{NEXT}prif_deallocate\n", f"{CHECKED}{SETTLE}{NEXT}prif_deallocate\n"),
    Edit("teams_s.F90", "    call prif_sync_all !", f"    {SYNC} !"),
    Edit("teams_s.F90", "      call prif_sync_all\n", "      call prif_sync_all(stat, errmsg, errmsg_alloc)\n"),
    Edit("teams_s.F90", "    call prif_sync_memory\n", "    call caf_sync_memory\n"),
    Edit("teams_s.F90", f"{DONE}{NEXT}prif_form", f"{NEXT}prif_form"),
    Edit("teams_s.F90", DONE, SETTLE, 2),
    Edit("image_queries_s.F90", "    allocate(failed_images(0))\n", query("failed_images", "images_of(failed, ")),
    Edit("image_queries_s.F90", "    allocate(stopped_images(0))\n", query("stopped_images", "images_of(stopped, ")),
    Edit("image_queries_s.F90", "    image_status = 0\n", query("image_status", "status_of(image, ")),
    Edit("program_termination_s.F90", "    call prif_sync_all\n", f"    {SYNC}\n"),
)  # fmt: skip


def edited(path: Path) -> str:
    """The text of a file of Caffeine's with its edits; raises SourceError."""
    text = path.read_text()
    for edit in EDITS:
        if edit.file != path.name:
            continue
        if text.count(edit.old) != edit.times:
            raise SourceError(
                f"{path} has {text.count(edit.old)} times, not {edit.times} times, the text {edit.old!r}: "
                "give a checkout of Caffeine 0.8.1"
            )
        text = text.replace(edit.old, edit.new)
    return text


def prepared(caffeine: Path, folder: Path) -> Iterator[Path]:
    """Writes the files into the folder, and names all that are to be compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {path.name for path in OWN.glob("*.F90")}
    yield from sorted(OWN.glob("*.F90"))
    for path in sorted((caffeine / "src").rglob("*.F90")):
        if path.name in own:
            continue
        copy = folder / path.name
        copy.write_text(edited(path))
        yield copy
