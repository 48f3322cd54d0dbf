! SPDX-License-Identifier: BSD-3-Clause
! Heat on a square plate by Jacobi's method, on a grid of images. Each image has a block of the plate with a border one
! cell wide, into which its neighbours assign their edges. Two plates are used in turn, so one synchronisation a step is
! enough. At the end image 1 computes the same alone and compares.
!
!   caf -O2 heat.f90 -o heat && cafrun -n 4 ./heat [CELLS [STEPS]]
program heat
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), allocatable :: plate(:, :, :)[:, :]
  integer, allocatable :: neighbours(:)
  integer :: cells, steps, rows, columns, height, width, row, column, step, now

  cells = argument(1, 48)
  steps = argument(2, 100)
  rows = int(sqrt(real(num_images())))
  do while (mod(num_images(), rows) /= 0)
    rows = rows - 1
  end do
  columns = num_images() / rows
  if (mod(cells, rows) + mod(cells, columns) /= 0) error stop 'heat: CELLS must be a multiple of the grid of images'
  height = cells / rows
  width = cells / columns
  allocate (plate(0:height + 1, 0:width + 1, 0:1)[rows, *])
  row = mod(this_image() - 1, rows) + 1
  column = (this_image() - 1) / rows + 1
  neighbours = [image_index(plate, [row - 1, column]), image_index(plate, [row + 1, column]), &
                image_index(plate, [row, column - 1]), image_index(plate, [row, column + 1])]
  neighbours = pack(neighbours, neighbours > 0)

  plate = 0
  if (row == 1) plate(0, :, :) = 1  ! the upper side is hot
  sync all
  do step = 1, steps
    now = mod(step, 2)
    call relax(height, width, plate(:, :, 1 - now), plate(:, :, now))
    if (row > 1) plate(height + 1, 1:width, now)[row - 1, column] = plate(1, 1:width, now)
    if (row < rows) plate(0, 1:width, now)[row + 1, column] = plate(height, 1:width, now)
    if (column > 1) plate(1:height, width + 1, now)[row, column - 1] = plate(1:height, 1, now)
    if (column < columns) plate(1:height, 0, now)[row, column + 1] = plate(1:height, width, now)
    sync images (neighbours)
  end do
  sync all
  if (this_image() == 1) call compare(mod(steps, 2))
contains
  integer function argument(place, otherwise)
    integer, intent(in) :: place, otherwise
    character(20) :: text
    argument = otherwise
    if (command_argument_count() < place) return
    call get_command_argument(place, text)
    read (text, *) argument
  end function
  subroutine relax(m, n, old, new)  ! the inner cells become the means of their neighbours
    integer, intent(in) :: m, n
    real(real64), intent(in) :: old(0:m + 1, 0:n + 1)
    real(real64), intent(inout) :: new(0:m + 1, 0:n + 1)
    new(1:m, 1:n) = (old(0:m - 1, 1:n) + old(2:m + 1, 1:n) + old(1:m, 0:n - 1) + old(1:m, 2:n + 1)) / 4
  end subroutine
  subroutine compare(last)  ! with what one image computes
    integer, intent(in) :: last
    real(real64) :: alone(0:cells + 1, 0:cells + 1, 0:1), block(height, width), worst
    integer :: step, image, r, c
    alone = 0
    alone(0, :, :) = 1
    do step = 1, steps
      call relax(cells, cells, alone(:, :, mod(step + 1, 2)), alone(:, :, mod(step, 2)))
    end do
    worst = 0
    do image = 1, num_images()
      r = mod(image - 1, rows) * height
      c = (image - 1) / rows * width
      block = plate(1:height, 1:width, last)[r / height + 1, c / width + 1]
      worst = max(worst, maxval(abs(block - alone(r + 1:r + height, c + 1:c + width, last))))
    end do
    print '(a,i0,a,i0,a,i0,a,es8.1)', 'heat: ', steps, ' steps on ', rows, ' x ', columns, ' images; off by ', worst
    if (.not. worst < 1e-12_real64) error stop 'heat: the images disagree with one image alone'
  end subroutine
end program
