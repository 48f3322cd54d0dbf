! SPDX-License-Identifier: BSD-3-Clause
! References to and assignments of coindexed objects: scalars, sections, vector subscripts, conversions, strings, derived types.
program transfers
  use check
  implicit none
  type point
    integer :: x
    real(8) :: y(3)
  end type
  integer :: scalar[*], line(10)[*]
  integer(1) :: k1(6)[*]
  integer(8) :: k8(6)[*]
  real(4) :: r4(6)[*]
  real(8) :: r8(6)[*]
  complex(8) :: c8(3)[*]
  logical :: truth(3)[*]
  character(5) :: text[*], words(2)[*]
  character(3, kind=4) :: wide[*]
  type(point) :: place[*], places(4)[*]
  integer, allocatable :: grid(:,:)[:], cube(:,:,:)[:], piece(:,:)
  integer :: far(3000)[*], order(1000), many(1000)
  integer :: me, next, before, i, j, got(10), square(4,5), two(2), few(3), pair(2)
  integer(8) :: whole
  real :: fraction
  character(8) :: long
  character(2) :: short

  me = this_image()
  next = merge(1, me + 1, me == num_images())
  before = merge(num_images(), me - 1, me == 1)

  ! scalars
  scalar = 100 * me
  sync all
  call expect(scalar[next] == 100 * next, 'a reference')
  sync all
  scalar[next] = me
  i = scalar[next]  ! apart: gfortran 15 takes its own for it in an assignment to a coindexed object
  scalar[next] = i + 7  ! the order of statements on one variable
  sync all
  call expect(scalar == before + 7, 'an assignment, then a reference and an assignment')

  ! sections
  line = [(10 * me + i, i = 1, 10)]
  sync all
  got = 0
  got = line(:)[next]
  call expect(all(got == [(10 * next + i, i = 1, 10)]), 'a whole array')
  got(1:4) = line(3:9:2)[next]
  call expect(all(got(1:4) == 10 * next + [3, 5, 7, 9]), 'a stride')
  got(1:10) = line(10:1:-1)[next]
  call expect(all(got == [(10 * next + i, i = 10, 1, -1)]), 'backwards')
  sync all
  line(2:8:3)[next] = [-1, -2, -3]
  sync all
  call expect(all(line(2:8:3) == [-1, -2, -3]) .and. line(1) == 10 * me + 1, 'an assignment with a stride')
  sync all
  line(:)[next] = 5
  sync all
  call expect(all(line == 5), 'a scalar to an array')
  sync all
  few = [9, 2, 4]  ! variables: gfortran 15 cannot compile array constructors here
  line(few)[next] = [90, 20, 40]
  sync all
  call expect(line(9) == 90 .and. line(2) == 20 .and. line(4) == 40 .and. line(3) == 5, 'a vector subscript')
  few = [4, 9, 4]
  got(1:3) = line(few)[next]
  call expect(all(got(1:3) == [40, 90, 40]), 'a reference with a vector subscript')

  ! many elements apart: one call of the layer
  far = [(4000 * me + i, i = 1, size(far))]
  order = [(3 * i - mod(i, 2), i = size(order), 1, -1)]
  sync all
  many = far(order)[next]
  call expect(all(many == 4000 * next + order), 'a long vector subscript')
  many = far(2:3000:3)[next]
  call expect(all(many == 4000 * next + [(3 * i - 1, i = 1, size(many))]), 'a long stride')
  sync all
  far(order)[next] = -order
  sync all
  call expect(all(far(order) == -order) .and. all(far(1:3000:3) == 4000 * me + [(i, i = 1, 3000, 3)]), 'long, put')

  ! to itself, overlapping
  sync all
  line = [(i, i = 1, 10)]
  line(2:10)[me] = line(1:9)[me]
  call expect(all(line == [1, (i, i = 1, 9)]), 'overlapping sections of the own image')
  line(:)[me] = line(10:1:-1)
  call expect(all(line == [(i, i = 9, 1, -1), 1]), 'the own image backwards')

  ! several dimensions
  allocate (grid(4, 5)[*], cube(2, 3, 4)[*])
  grid = reshape([(100 * me + i, i = 1, 20)], [4, 5])
  sync all
  square = grid(:,:)[next]
  call expect(all(square == reshape([(100 * next + i, i = 1, 20)], [4, 5])), 'a matrix')
  got(1:5) = grid(2, :)[next]
  call expect(all(got(1:5) == 100 * next + [2, 6, 10, 14, 18]), 'a row')
  piece = grid(1:4, 2:2)[next]
  call expect(all(shape(piece) == [4, 1]) .and. all(piece(:, 1) == 100 * next + [5, 6, 7, 8]), 'a column as a matrix')
  piece = grid(3:3, 1:4)[next]  ! as many elements in another shape
  call expect(all(shape(piece) == [1, 4]) .and. all(piece(1, :) == 100 * next + [3, 7, 11, 15]), 'a row as a matrix')
  square = 0
  square(1:2, 1:3) = grid(4:2:-2, 1:5:2)[next]
  call expect(all(square(1, 1:3) == 100 * next + [4, 12, 20]) .and. square(2, 3) == 100 * next + 18, 'strides in both')
  pair = [1, 4]
  two = grid(pair, 3)[next]
  call expect(all(two == 100 * next + [9, 12]), 'a vector subscript and a scalar')
  sync all
  grid(3, :)[next] = [(-i, i = 1, 5)]
  sync all
  call expect(all(grid(3, :) == [(-i, i = 1, 5)]) .and. grid(2, 1) == 100 * me + 2, 'a row assigned')
  cube(:,:,:)[next] = reshape([(me * i, i = 1, 24)], [2, 3, 4])
  sync all
  call expect(all(cube == reshape([(before * i, i = 1, 24)], [2, 3, 4])), 'a cube')
  call expect(all(cube(2, :, 2:4:2) == reshape([((before * (2 * i + 6 * j), i = 1, 3), j = 1, 3, 2)], [3, 2])), 'its parts')
  sync all
  cube(2, :, 2:4:2)[next] = 7
  sync all
  call expect(count(cube == 7) >= 6 .and. all(cube(2, :, 4) == 7), 'parts of a cube')

  ! between two images
  sync all
  line = [(1000 * me + i, i = 1, 10)]
  sync all
  if (me == 1) line(1:3)[next] = line(8:10)[before]
  sync all
  if (me == next .or. num_images() == 1) then
    call expect(all(line(1:3) == [1008, 1009, 1010]), 'one image between itself')
  else if (before == 1) then
    call expect(all(line(1:3) == 1000 * merge(num_images(), before - 1, before == 1) + [8, 9, 10]), 'from one image to another')
  end if

  ! kinds and types
  sync all
  k1 = int(me, 1); k8 = 2_8**40 * me; r4 = 1.5 * me; r8 = 2.25d0 * me; c8 = cmplx(me, -me, 8); truth = [.true., .false., .true.]
  sync all
  whole = k1(3)[next]
  call expect(whole == next, 'integer(1) to integer(8)')
  r8 = k8(:)[next]
  call expect(all(abs(r8 - 2d0**40 * next) < 1), 'integer(8) to real(8)')
  got(1:6) = r4(:)[next]
  call expect(all(got(1:6) == int(1.5 * next)), 'real(4) to integer')
  fraction = c8(2)[next]
  call expect(fraction == next, 'complex to real')
  sync all
  k8(1:6)[next] = r4
  r8(2:6:2)[next] = [1, 2, 3]
  c8(1)[next] = 3
  truth(2)[next] = .true.
  sync all
  call expect(all(k8 == int(1.5 * before)), 'real to integer(8)')
  call expect(all(r8(2:6:2) == [1, 2, 3]), 'integers to real(8) with a stride')
  call expect(c8(1) == (3, 0) .and. all(truth), 'integer to complex, logicals')

  ! strings
  text = 'abcde'; words = ['one  ', 'three']; wide = 4_'xyz'
  sync all
  long = text[next]
  short = text[next]
  call expect(long == 'abcde' .and. short == 'ab', 'strings are padded and cut')
  text[next] = 'xy'
  words(:)[next] = ['a', 'b']
  sync all
  call expect(text == 'xy' .and. words(2) == 'b', 'strings assigned')
  short = wide[next]
  call expect(short == 'xy', 'characters of four bytes')

  ! derived types
  place = point(me, [1d0, 2d0, 3d0] * me)
  places = place
  sync all
  call expect(place[next]%x == next .and. place[next]%y(2) == 2 * next, 'components')
  places(3) = place[next]
  call expect(places(3)%y(3) == 3 * next, 'a whole object')
  sync all
  place[next]%y(2:3) = [8d0, 9d0]
  places(2)[next] = point(77, 0)
  sync all
  call expect(all(place%y == [1d0 * me, 8d0, 9d0]), 'a component assigned')
  call expect(places(2)%x == 77, 'an object assigned')
end program
