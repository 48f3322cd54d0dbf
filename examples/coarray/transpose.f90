! SPDX-License-Identifier: BSD-3-Clause
! Transposes a square matrix that lies on the images by columns. Each image fetches from every other the rows that
! become its columns, in blocks that fit into a cache, and begins with the image after it, so that not all ask the same
! one. At the end image 1 compares with the transpose of the whole.
!
!   caf -O2 transpose.f90 -o transpose && cafrun -n 4 ./transpose [SIZE [BLOCK]]
program transposition
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), allocatable :: from(:, :)[:], to(:, :)[:], block(:, :)
  integer :: length, side, columns, me, other, step, i, j, first, high, wide

  length = argument(1, 240)
  side = argument(2, 32)
  me = this_image()
  if (mod(length, num_images()) /= 0) error stop 'transpose: SIZE must be a multiple of the number of images'
  columns = length / num_images()
  allocate (from(length, columns)[*], to(length, columns)[*])
  do j = 1, columns
    from(:, j) = [(real(i, real64) + 1e4_real64 * ((me - 1) * columns + j), i = 1, length)]
  end do
  sync all
  do step = 1, num_images()
    other = modulo(me - 1 + step, num_images()) + 1
    first = (other - 1) * columns  ! where the other one's columns begin in the whole
    do i = 1, columns, side        ! my columns of the result, the rows of the other one's matrix
      high = min(side, columns - i + 1)
      do j = 1, columns, side
        wide = min(side, columns - j + 1)
        block = from((me - 1) * columns + i:(me - 1) * columns + i + high - 1, j:j + wide - 1)[other]
        to(first + j:first + j + wide - 1, i:i + high - 1) = transpose(block)
      end do
    end do
  end do
  sync all
  if (me == 1) call compare
contains
  integer function argument(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(20) :: text
    argument = otherwise
    if (command_argument_count() < place) return
    call get_command_argument(place, text)
    read (text, *) argument
  end function

  subroutine compare
    real(real64), allocatable :: before(:, :), after(:, :)
    integer :: k
    allocate (before(length, length), after(length, length))
    do k = 1, num_images()
      before(:, (k - 1) * columns + 1:k * columns) = from(:, :)[k]
      after(:, (k - 1) * columns + 1:k * columns) = to(:, :)[k]
    end do
    if (any(abs(after - transpose(before)) > 0)) error stop 'transpose: the images disagree with one image alone'
    print '(a,i0,a,i0,a,i0,a)', 'transpose: ', length, ' x ', length, ' on ', num_images(), ' images: equal'
  end subroutine
end program
