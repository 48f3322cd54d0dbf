! SPDX-License-Identifier: BSD-3-Clause
! Calls of Fortran, by the module mpi; each leaves a line of what it expects, as expect.h does.
program fortran
  use mpi
  implicit none
  integer :: rank, ranks, peer, code, half, unit
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  double precision :: out(1000), in(1000)
  character(len=4096) :: folder
  character(len=16) :: name

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  peer = 1 - rank
  call get_environment_variable("EXPECT_DIR", folder)
  write (name, '(i0,".1")') rank
  open (newunit=unit, file=trim(folder)//"/"//trim(name), action="write")
  call expect("Init", '"bytes": 2')

  if (rank == 0) then
    call MPI_Send(out, 10, MPI_DOUBLE_PRECISION, peer, 3, MPI_COMM_WORLD, code)
    call message("Send", peer, 3, 80, "")
    call MPI_Ssend(out, 1000, MPI_DOUBLE_PRECISION, peer, 4, MPI_COMM_WORLD, code)
    call message("Ssend", peer, 4, 8000, "")
  else
    call MPI_Recv(in, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, code)
    call message("Recv", peer, 3, 80, '"any_source", "any_tag", ')
    if (status(MPI_SOURCE) /= 0 .or. status(MPI_TAG) /= 3) error stop "a wrong status"
    call MPI_Recv(in, 1000, MPI_DOUBLE_PRECISION, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call message("Recv", peer, 4, 8000, "")
  end if

  call MPI_Irecv(in, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, requests(1), code)
  call expect("Irecv", '"peer": -1, "tag": 5, "bytes": 8000, "posts": 1, "flags": ["any_source", "fortran"]')
  call MPI_Isend(out, 20, MPI_DOUBLE_PRECISION, peer, 5, MPI_COMM_WORLD, requests(2), code)
  call expect("Isend", '"tag": 5, "bytes": 160, "posts": 2')
  call MPI_Waitall(2, requests, statuses, code)
  call expect("Waitall", '"bytes": 2, "completes": [1, 2], "matches": [{"tag": 5, "bytes": 160}]')
  if (statuses(MPI_SOURCE, 1) /= peer) error stop "a wrong status"

  call MPI_Sendrecv(out, 1, MPI_DOUBLE_PRECISION, peer, 6, in, 1, MPI_DOUBLE_PRECISION, peer, 6, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, code)
  call expect("Sendrecv", '"tag": 6, "bytes": 8, "matches": [{"tag": 6, "bytes": 8}]')
  call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, half, code)
  call expect("CommSplit", '"comm": 1, "request": 3')
  call MPI_Allreduce(MPI_IN_PLACE, in, 7, MPI_DOUBLE_PRECISION, MPI_SUM, half, code)
  call expect("Allreduce", '"comm": 3, "bytes": 56, "flags": ["in_place", "fortran"]')
  call MPI_Bcast(in, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, code)
  call expect("Bcast", '"comm": 1, "peer": 1, "bytes": 12, "flags": ["fortran"]')
  call MPI_Comm_free(half, code)
  call expect("CommFree", '"comm": 3')
  call expect("Finalize", '"flags": ["fortran"]')
  close (unit)
  call MPI_Finalize(code)

contains
  include "expect.f90"
end program
