! SPDX-License-Identifier: BSD-3-Clause
! Allocation: many coarrays, scope, shortage with STAT=, reallocation in procedures, cobounds.
program memory
  use check
  implicit none
  type holder
    integer, allocatable :: here(:)[:]
  end type
  type(holder) :: hold
  integer, allocatable :: big(:)[:], plain[:], shaped(:)[:,:]
  integer(8) :: huge_size
  integer :: i, how_many, status, me, n, next, start, end, rate
  character(200) :: text

  me = this_image()
  n = num_images()
  next = merge(1, me + 1, me == n)

  call system_clock(start, rate)
  how_many = 10000
  if (command_argument_count() > 0) then  ! over a network, fewer
    call get_command_argument(1, text)
    read (text, *) how_many
  end if
  do i = 1, how_many
    allocate (big(i)[*])
    if (mod(i, 100) == 0) big = me + i
    sync all
    if (mod(i, 100) == 0) call expect(big(i)[next] == next + i, 'many coarrays')
    deallocate (big)
  end do
  call system_clock(end)
  if (me == 1) print '(i0,a,f0.3,a)', how_many, ' coarrays allocated and deallocated: ', real(end - start) / rate, ' s'
  allocate (big(1000000)[*])
  big = me
  sync all
  call expect(big(1000000)[next] == next, 'a large one')
  sync all
  deallocate (big)

  ! shortage
  huge_size = 2_8**42
  status = 0
  text = ''
  allocate (big(huge_size)[*], stat=status)
  call expect(status /= 0 .and. .not. allocated(big), 'no memory')
  sync all
  allocate (big(10)[*], stat=status, errmsg=text)
  call expect(status == 0 .and. allocated(big), 'memory for less')
  big = 4
  deallocate (big, stat=status)
  call expect(status == 0 .and. .not. allocated(big), 'deallocate')

  do i = 1, 20
    call local(i)
  end do

  ! an allocatable coarray in an object that is none
  allocate (hold%here(2 * n)[*])
  hold%here = me
  sync all
  hold%here(me)[next] = -me
  sync all
  call expect(count(hold%here == me) == 2 * n - 1, 'a coarray component')
  deallocate (hold%here)

  ! cobounds
  allocate (plain[0:*], shaped(3)[2:2, 5:*])
  call expect(lcobound(plain, 1) == 0 .and. this_image(plain, 1) == me - 1, 'a lower cobound')
  call expect(image_index(shaped, [2, 4 + n]) == n .and. all(this_image(shaped) == [2, 4 + me]), 'two codimensions')
  plain = 50 + me
  shaped = 60 + me
  sync all
  call expect(plain[next - 1] == 50 + next .and. shaped(2)[2, 4 + next] == 60 + next, 'other cobounds')
  sync all
contains
  subroutine local(size)
    integer, intent(in) :: size
    integer, allocatable :: inside(:)[:]  ! deallocated at the end, with a synchronisation
    integer, save :: kept[*]
    allocate (inside(1000 * size)[*])
    inside = me
    kept = me * size
    sync all
    call expect(inside(1000 * size)[next] == next .and. kept[next] == next * size, 'a local coarray')
    sync all
  end subroutine
end program
