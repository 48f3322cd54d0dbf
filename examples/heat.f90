! SPDX-License-Identifier: BSD-3-Clause
! heat.c in Fortran: heat on a ring. Every rank puts its two edge cells into the neighbours' halos and raises their
! flags; no barrier in the loop. Halos come in two sets, used in turn, since a neighbour may be one step ahead.
!
!   omplrun -n 4 ./heat_f90 [steps]
program heat
  use omnipgas
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: cells = 64, left = 0, right = 1
  real(real64), parameter :: pi = acos(-1.0_real64), r = 0.25_real64 ! diffusion number
  real(real64) :: u(0:cells + 1), angle, factor, worst
  real(real64), pointer, volatile :: view(:, :), mine(:, :)
  integer(c_int64_t) :: halos, flags
  integer :: i, rank, size, set, side, step, steps, status, neighbour(0:1)
  character(20) :: text

  steps = 500
  call get_command_argument(1, text, status=status)
  if (status == 0) read (text, *) steps
  call require(ompl_init(), "ompl_init")
  rank = ompl_rank()
  size = ompl_size()
  neighbour = [modulo(rank - 1, size), modulo(rank + 1, size)]
  call require(ompl_alloc(32_c_size_t, halos), "ompl_alloc") ! what the neighbours write: (side, set)
  call require(ompl_alloc(8_c_size_t, flags), "ompl_alloc")
  call c_f_pointer(ompl_ptr(rank, halos), view, [2, 2])
  mine(0:, 0:) => view

  ! One cosine wave around the ring; the scheme damps it by a known factor per step.
  angle = 2 * pi / (real(size, real64) * cells)
  factor = 1 - 2 * r * (1 - cos(angle))
  u = [(wave(i), i=0, cells + 1)]

  do step = 0, steps - 1
    set = mod(step, 2)
    do side = left, right ! my left edge is the right halo of my left neighbour
      call require(ompl_put(u(merge(1, cells, side == left)), neighbour(side), &
                            halos + 8 * (2 * set + 1 - side)), "ompl_put")
      call require(ompl_put_word(neighbour(side), flags + 4 * (1 - side)), "ompl_put_word")
    end do
    do side = left, right
      call require(ompl_wait(flags + 4 * side), "ompl_wait")
    end do
    u(0) = mine(left, set)
    u(cells + 1) = mine(right, set)
    u(1:cells) = u(1:cells) + r * (u(0:cells - 1) - 2 * u(1:cells) + u(2:cells + 1))
  end do

  worst = maxval([(abs(u(i) - factor**real(steps, real64) * wave(i)), i=1, cells)])
  write (text, "(es7.1)") worst
  text(index(text, "E"):index(text, "E")) = "e"
  print "(a, i0, a, i0, 2a)", "rank ", rank, ": ", steps, " steps, farthest from the exact solution by ", trim(text)
  call require(ompl_finalize(), "ompl_finalize")
  if (worst >= 1e-9_real64) stop 1

contains

  real(real64) function wave(cell)
    integer, intent(in) :: cell
    wave = cos(angle * (rank * cells + cell))
  end function

  subroutine require(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    if (code < 0) call fail(code, what)
  end subroutine

  subroutine fail(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    error stop what // ": " // ompl_strerror(code) // " (" // ompl_error_detail() // ")"
  end subroutine
end program heat
