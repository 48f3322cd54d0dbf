! SPDX-License-Identifier: BSD-3-Clause
! Components that are strings of deferred length. gfortran 15 cannot compile references to them.
program strings
  use check
  implicit none
  type named
    integer :: number
    character(:), allocatable :: text
  end type
  type(named) :: object[*]
  integer :: me, next
  character(20) :: name

  me = this_image()
  next = merge(1, me + 1, me == num_images())
  object%text = repeat('ab', me)
  sync all
  name = object[next]%text
  call expect(name == repeat('ab', next), 'a string of deferred length')
end program
