! SPDX-License-Identifier: BSD-3-Clause
! Locks and critical constructs of PRIF: they exclude, and say so by STAT=.
program locks
  use support
  implicit none
  integer, parameter :: times = 50
  type(prif_coarray_handle) :: lock_handle, critical_handle, sum_handle
  type(c_ptr) :: memory
  type(prif_lock_type), pointer :: guard(:)
  type(prif_critical_type), pointer :: critical
  integer(c_int), pointer :: total
  integer(c_size_t) :: second
  integer(c_int) :: status, next, before
  logical(c_bool) :: mine
  character(80) :: text
  character(:), allocatable :: long
  integer :: i

  call begin()
  second = storage_size(guard) / 8
  call make(2 * second, lock_handle, memory)
  call c_f_pointer(memory, guard, [2])
  guard = prif_lock_type()
  call make(int(storage_size(critical) / 8, c_size_t), critical_handle, memory)
  call c_f_pointer(memory, critical)
  critical = prif_critical_type()
  call make(4_c_size_t, sum_handle, memory)
  call c_f_pointer(memory, total)
  total = 0
  call prif_sync_all()
  next = merge(1, me + 1, me == images)
  before = merge(images, me - 1, me == 1)

  do i = 1, times
    call prif_lock(1_c_int, lock_handle, 0_c_size_t)
    call add_one()
    call prif_unlock(1_c_int, lock_handle, 0_c_size_t, stat=status)
    call expect(status == 0, 'unlock', status)
  end do
  call prif_sync_all()
  if (me == 1) call expect(total == times * images, 'locks exclude')
  call prif_sync_all()
  if (me == 1) total = 0
  call prif_sync_all()
  do i = 1, times
    call prif_critical(critical_handle, stat=status)
    call expect(status == 0, 'critical', status)
    call add_one()
    call prif_end_critical(critical_handle)
  end do
  call prif_sync_all()
  if (me == 1) call expect(total == times * images, 'critical excludes')

  call prif_lock(next, lock_handle, second, stat=status)
  call expect(status == 0, 'stat of lock', status)
  call prif_lock(next, lock_handle, second, stat=status, errmsg=text)
  call expect(status == PRIF_STAT_LOCKED .and. index(text, 'locked it already') > 0, 'locked by itself: ' // text, status)
  call prif_lock(next, lock_handle, second, stat=status, errmsg_alloc=long)
  call expect(status == PRIF_STAT_LOCKED .and. index(long, 'locked it already') > 0, 'a text that is allocated', status)
  call prif_sync_all()
  if (images > 1) then
    call prif_lock(me, lock_handle, second, acquired_lock=mine, stat=status)
    call expect(.not. mine .and. status == 0, 'a lock that another image has', status)
    call prif_unlock(me, lock_handle, second, stat=status)
    call expect(status == PRIF_STAT_LOCKED_OTHER_IMAGE, 'unlocks what another image has locked', status)
  end if
  call prif_sync_all()
  call prif_unlock(next, lock_handle, second)
  call prif_sync_all()
  call prif_unlock(next, lock_handle, second, stat=status)
  call expect(status == PRIF_STAT_UNLOCKED, 'unlocks what is not locked', status)
  call prif_lock(me, lock_handle, 0_c_size_t, acquired_lock=mine)
  call expect(logical(mine), 'acquires a lock that is free')
  call prif_unlock(me, lock_handle, 0_c_size_t)

  call prif_sync_images([next, before], stat=status)
  if (images > 2) call expect(status == 0, 'sync images of a list', status)
  call prif_sync_images(stat=status)
  call expect(status == 0, 'sync images of all', status)
  if (me == images) print '(a)', 'all was well'
  call prif_stop(.true._c_bool)
contains
  subroutine add_one()
    integer(c_int), target :: value
    call prif_get(1_c_int, sum_handle, 0_c_size_t, c_loc(value), 4_c_size_t)
    value = value + 1
    call prif_put(1_c_int, sum_handle, 0_c_size_t, c_loc(value), 4_c_size_t)
  end subroutine
end program
