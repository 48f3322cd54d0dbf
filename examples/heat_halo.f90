! SPDX-License-Identifier: BSD-3-Clause
! heat_halo.c in Fortran: heat in a rod, its ends kept at 0 degrees, by the halo exchange of <omnipgas/halo.h>. Every rank
! owns some of the cells and needs one of either neighbour in each step; its inner cells are computed while those travel.
!
!   omplrun -n 4 ./heat_halo_f90 [steps]
program heat_halo
  use omnipgas
  use omnipgas_halo
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: cells = 100
  real(c_double), target :: u(0:cells + 1) = 0 ! the own cells 1 .. n between two more
  real(c_double) :: next(cells), whole(0:cells + 1) = 0
  type(ompl_halo_neighbor) :: left, right
  type(c_ptr) :: halo
  integer(c_size_t) :: i, n, first, count
  integer :: rank, size, step, steps = 500, status
  logical :: same
  character(20) :: text

  call get_command_argument(1, text, status=status)
  if (status == 0) read (text, *) steps
  call require(ompl_init(), "ompl_init")
  rank = ompl_rank()
  size = ompl_size()
  if (size > cells) error stop "more ranks than cells"
  first = 1 + rank * cells / size
  n = 1 + (rank + 1) * cells / size - first
  left = ompl_halo_neighbor(rank=rank - 1, send_first=1, send_count=1, receive_first=0, receive_count=1)
  right = ompl_halo_neighbor(rank=rank + 1, send_first=n, send_count=1, receive_first=n + 1, receive_count=1)
  count = merge(1, 0, rank > 0) + merge(1, 0, rank + 1 < size)
  call require(ompl_halo_create(ompl_halo_config(), pack([left, right], [rank > 0, .true.]), count, halo), "ompl_halo_create")

  u(1:n) = [(modulo((first + i - 1) * 37, 101_c_size_t), i=1, n)]
  do step = 1, steps
    call require(ompl_halo_start(c_null_ptr, halo, [c_loc(u)], OMPL_FOREVER), "ompl_halo_start")
    next(2:n - 1) = computed(u(1:n))
    call require(ompl_halo_wait(c_null_ptr, halo, OMPL_FOREVER), "ompl_halo_wait")
    do i = 0, count - 1
      call require(ompl_halo_unpack(halo, i, [c_loc(u)]), "ompl_halo_unpack")
    end do
    next(1:1) = computed(u(0:2))
    next(n:n) = computed(u(n - 1:n + 1))
    u(1:n) = next(1:n)
  end do
  call require(ompl_halo_destroy(halo), "ompl_halo_destroy")

  whole(1:cells) = [(modulo(i * 37, 101_c_size_t), i=1, cells)] ! the same by one process
  do step = 1, steps
    whole(1:cells) = computed(whole)
  end do
  same = maxval(abs(u(1:n) - whole(first:first + n - 1))) < 1e-10_c_double
  print "(3(a, i0), a, f0.4, 3a)", "rank ", rank, ": cells ", first, " to ", first + n - 1, &
    " have ", sum(u(1:n)) / real(n, c_double), " degrees, ", trim(merge("as    ", "unlike", same)), " by one process"
  call require(ompl_finalize(), "ompl_finalize")
  if (.not. same) stop 1

contains

  ! The inner ones of some cells after a step.
  pure function computed(v) result(w)
    real(c_double), intent(in) :: v(:)
    real(c_double) :: w(ubound(v, 1) - 2)
    associate (m => ubound(v, 1))
      w = v(2:m - 1) + 0.25_c_double * (v(:m - 2) - 2 * v(2:m - 1) + v(3:))
    end associate
  end function

  subroutine require(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    if (code < 0) error stop what // ": " // ompl_strerror(code) // " (" // ompl_error_detail() // ")"
  end subroutine
end program heat_halo
