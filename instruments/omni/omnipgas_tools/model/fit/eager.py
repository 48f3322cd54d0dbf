# SPDX-License-Identifier: BSD-3-Clause
"""How the eager limit S of an MPI is set, for ranks of one node: by environment, before the program starts.

Of Intel MPI over shared memory there is none to set: sends of at least 4 MiB end without their receive, whatever
I_MPI_SHM_EAGER_THRESHOLD says (tried, 2021.18)."""

MPICH_CELL_HEADER = 128  # bytes, at most, of a cell that are no message's
OPENMPI_HEADER = 80  # bytes of a fragment that are no message's, and that btl_sm_eager_limit counts


def limit(mpi: str, bytes_: int) -> dict[str, str] | None:
    """The variables under which the longest message sent without synchronization has that many bytes; None if this
    MPI, by its name in peers.toml, has none that are known."""
    if mpi == "mpich":  # 5.0: a message is eager below the threshold of single copies, and if a cell holds it
        cell = bytes_ + MPICH_CELL_HEADER
        return {
            "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": str(bytes_ + 1),
            "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": str(cell + -cell % 64),
            "MPIR_CVAR_CH4_PACK_BUFFER_SIZE": str(max(2 * cell, 1 << 16)),
        }
    if mpi == "openmpi":
        return {"OMPI_MCA_btl_sm_eager_limit": str(bytes_ + OPENMPI_HEADER)}
    return None
