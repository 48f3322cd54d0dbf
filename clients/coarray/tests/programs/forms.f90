! SPDX-License-Identifier: BSD-3-Clause
! Forms of statements that gfortran 12 and 14 compile, and gfortran 15 does not or not rightly
! (docs/how-to/coarray.md): assignments whose both sides are coindexed, array constructors as vector subscripts.
program forms
  use, intrinsic :: iso_fortran_env, only: lock_type
  use check
  implicit none
  type holder
    integer, allocatable :: plane(:, :)
  end type
  integer :: scalar[*], total[*], line(10)[*], got(3), two(2), me, next, before, i
  integer, allocatable :: grid(:, :)[:], numbers(:)
  type(lock_type) :: guard[*]
  type(holder) :: object[*]

  me = this_image()
  next = merge(1, me + 1, me == num_images())
  before = merge(num_images(), me - 1, me == 1)

  ! both sides coindexed
  scalar = 0
  total = 0
  line = [(10 * me + i, i = 1, 10)]
  sync all
  scalar[next] = me
  scalar[next] = scalar[next] + 7  ! the order of statements on one variable
  line(1)[next] = line(2)[before] + line(3)[me]
  do i = 1, 50
    lock (guard[1])
    total[1] = total[1] + 1
    unlock (guard[1])
    critical
      total[num_images()] = total[num_images()] + 1
    end critical
  end do
  sync all
  call expect(scalar == before + 7, 'an assignment, then one from the same variable')
  i = merge(num_images(), before - 1, before == 1)  ! the image before the one that assigned
  call expect(line(1) == 10 * i + 2 + 10 * before + 3, 'an assignment from two images')
  if (num_images() > 1) then
    if (me == 1 .or. me == num_images()) call expect(total == 50 * num_images(), 'sums of all images')
  end if

  ! array constructors as vector subscripts
  allocate (grid(4, 5)[*], object%plane(2, 3))
  grid = reshape([(100 * me + i, i = 1, 20)], [4, 5])
  object%plane = reshape([(100 * me + i, i = 1, 6)], [2, 3])
  sync all
  line([9, 2, 4])[next] = [90, 20, 40]
  sync all
  call expect(all(line([2, 4, 9]) == [20, 40, 90]), 'an assignment to elements')
  got = line([4, 9, 4])[next]
  call expect(all(got == [40, 90, 40]), 'a reference to elements')
  two = grid([1, 4], 3)[next]
  call expect(all(two == 100 * next + [9, 12]), 'elements of a column')
  numbers = object[next]%plane(1, [2, 2])
  call expect(all(numbers == 100 * next + 3), 'elements of a component')
end program
