! SPDX-License-Identifier: BSD-3-Clause
! Allocatable and pointer components of coarrays, which each image allocates by itself.
program components
  use check
  implicit none
  type inner
    integer :: fixed(2, 3)
    real, allocatable :: values(:)
  end type
  type simple
    real, allocatable :: line(:)
  end type
  type outer
    integer :: number
    real, allocatable :: line(:)
    integer, allocatable :: plane(:,:)
    real(8), allocatable :: scalar
    integer, pointer :: far(:) => null()
    type(inner) :: part
    type(inner), allocatable :: parts(:)
  end type
  type(outer) :: all_of[*]
  type(simple), allocatable :: many(:)[:]
  integer, target :: outside(50000)
  integer :: me, next, before, i, pair(2)
  real, allocatable :: got(:)
  integer, allocatable :: matrix(:,:), numbers(:)
  real(8) :: value

  me = this_image()
  next = merge(1, me + 1, me == num_images())
  before = merge(num_images(), me - 1, me == 1)
  sync all
  call expect(.not. allocated(all_of[next]%line), 'nothing is allocated at first')
  sync all

  ! different sizes on different images
  all_of%number = me
  allocate (all_of%line(2 * me), all_of%plane(me, 3), all_of%scalar, all_of%part%values(4), all_of%parts(me + 1))
  all_of%line = [(me + i / 10., i = 1, 2 * me)]
  all_of%plane = reshape([(100 * me + i, i = 1, 3 * me)], [me, 3])
  all_of%scalar = me / 4d0
  all_of%part%fixed = reshape([(i + me, i = 1, 6)], [2, 3])
  all_of%part%values = me
  do i = 1, me + 1
    all_of%parts(i)%fixed = i
    allocate (all_of%parts(i)%values(i))
    all_of%parts(i)%values = 10 * me + i
  end do
  outside = [(me * i, i = 1, size(outside))]
  all_of%far => outside
  sync all

  call expect(allocated(all_of[next]%line) .and. allocated(all_of[next]%scalar), 'they are allocated')
  got = all_of[next]%line
  call expect(size(got) == 2 * next, 'the size is that of the other image')
  call expect(all(got == [(next + i / 10., i = 1, 2 * next)]), 'its values')
  matrix = all_of[next]%plane
  call expect(all(shape(matrix) == [next, 3]) .and. matrix(next, 3) == 100 * next + 3 * next, 'a matrix')
  matrix = all_of[next]%plane(1:1, 1:3)
  call expect(all(shape(matrix) == [1, 3]), 'a row as a matrix')
  matrix = all_of[next]%plane(1:1, 1:1)
  if (next > 2) matrix = all_of[next]%plane(1:3, 2:2)
  if (next > 2) call expect(all(shape(matrix) == [3, 1]), 'a column as a matrix')
  if (next > 2) matrix = all_of[next]%plane(2:2, 1:3)
  if (next > 2) call expect(all(shape(matrix) == [1, 3]), 'a row of as many elements')
  numbers = all_of[next]%plane(1, 3:1:-1)
  call expect(all(numbers == 100 * next + [1 + 2 * next, 1 + next, 1]), 'a row of it backwards')
  pair = 2
  numbers = all_of[next]%plane(1, pair)
  call expect(all(numbers == 100 * next + 1 + next), 'a vector subscript')
  value = all_of[next]%scalar
  call expect(value == next / 4d0, 'a scalar')
  i = all_of[next]%scalar * 4
  call expect(i == next, 'a scalar of another type')
  matrix = all_of[next]%part%fixed
  call expect(all(matrix == reshape([(i + next, i = 1, 6)], [2, 3])), 'an array of fixed size')
  numbers = all_of[next]%part%fixed(2, 1:3:2)
  call expect(all(numbers == next + [2, 6]), 'a part of it')
  got = all_of[next]%parts(next + 1)%values
  call expect(size(got) == next + 1 .and. all(got == 10 * next + next + 1), 'components of components')
  i = all_of[next]%parts(2)%fixed(2, 3)
  call expect(i == 2, 'an array of fixed size in an allocated one')
  numbers = all_of[next]%far(3:9:3)
  call expect(all(numbers == next * [3, 6, 9]), 'a target outside of the segment')
  numbers = all_of[next]%far
  call expect(size(numbers) == 50000 .and. numbers(50000) == 50000 * next, 'a long one')
  sync all

  ! assignments
  all_of[next]%line(1:2) = [-1, -2]
  all_of[next]%plane(1, :) = [7, 8, 9]
  all_of[next]%scalar = 99
  all_of[next]%far(50000) = 5
  all_of[next]%far(1:2000) = [(-i, i = 1, 2000)]
  all_of[next]%part%fixed(:, 2) = [41, 42]
  all_of[next]%parts(1)%values(1) = 1234.
  sync all
  call expect(all(all_of%line(1:2) == [-1, -2]) .and. all(all_of%plane(1, :) == [7, 8, 9]), 'sections')
  call expect(all_of%scalar == 99 .and. outside(50000) == 5 .and. outside(2000) == -2000, 'scalars, targets')
  call expect(all(all_of%part%fixed(:, 2) == [41, 42]) .and. all_of%parts(1)%values(1) == 1234., 'nested')
  sync all

  ! from one image to another, both by reference
  all_of[next]%line(2:2) = all_of[before]%line(1:1)
  sync all
  call expect(all_of%line(2) == -1, 'between two images')
  sync all

  ! allocation by assignment at the other image
  deallocate (all_of%line, all_of%scalar)
  sync all
  all_of[next]%line = [1., 2., 3., 4., 5.]
  all_of[next]%scalar = 8
  sync all
  call expect(allocated(all_of%line) .and. allocated(all_of%scalar), 'allocated by another image')
  call expect(size(all_of%line) == 5 .and. all_of%line(5) == 5. .and. all_of%scalar == 8, 'and its values')
  deallocate (all_of%line)
  sync all

  ! an array of them
  allocate (many(3)[*])
  do i = 1, 3
    allocate (many(i)%line(i))
    many(i)%line = 100 * me + i
  end do
  sync all
  got = many(3)[next]%line
  call expect(size(got) == 3 .and. all(got == 100 * next + 3), 'a component of an element')
  sync all
  deallocate (many)
end program
