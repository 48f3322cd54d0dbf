! SPDX-License-Identifier: BSD-3-Clause
! An image of four fails while it has a lock and a critical construct: each statement with STAT= says so at the others, which go on.
program failures
  use support
  implicit none
  type(prif_coarray_handle) :: lock_handle, critical_handle, event_handle, word_handle, more
  type(prif_team_type) :: left
  type(c_ptr) :: memory
  type(prif_lock_type), pointer :: guard
  type(prif_critical_type), pointer :: critical
  type(prif_event_type), pointer :: event
  integer(PRIF_ATOMIC_INT_KIND), pointer :: word
  integer(PRIF_ATOMIC_INT_KIND), target :: value
  integer(c_int), allocatable :: list(:)
  integer(c_int) :: status, total
  character(100) :: text

  call begin()
  call make(int(storage_size(guard) / 8, c_size_t), lock_handle, memory)
  call c_f_pointer(memory, guard)
  guard = prif_lock_type()
  call make(int(storage_size(critical) / 8, c_size_t), critical_handle, memory)
  call c_f_pointer(memory, critical)
  critical = prif_critical_type()
  call make(int(storage_size(event) / 8, c_size_t), event_handle, memory)
  call c_f_pointer(memory, event)
  event = prif_event_type()
  call make(8_c_size_t, word_handle, memory)
  call c_f_pointer(memory, word)
  word = 10 * me
  call prif_sync_all()
  if (me == 2) then
    call prif_lock(1_c_int, lock_handle, 0_c_size_t)
    call prif_critical(critical_handle)
  end if
  call prif_sync_all()
  if (me == 2) call prif_fail_image()
  do
    call prif_image_status(2_c_int, image_status=status)
    if (status == PRIF_STAT_FAILED_IMAGE) exit
  end do
  call prif_image_status(1_c_int, image_status=status)
  call expect(status == 0, 'the status of image 1', status)
  call prif_failed_images(failed_images=list)
  call expect(size(list) == 1 .and. all(list == 2), 'failed_images')
  call prif_stopped_images(stopped_images=list)
  call expect(size(list) == 0, 'stopped_images')

  call prif_sync_all(stat=status, errmsg=text)
  call failed('sync all')
  call expect(index(text, 'image 2 has failed') > 0, 'errmsg: ' // text)
  call prif_sync_images([2_c_int], stat=status)
  call failed('sync images')
  if (me == 1) call prif_sync_images([3_c_int], stat=status)
  if (me == 3) call prif_sync_images([1_c_int], stat=status)
  call expect(status == 0 .or. me == 4, 'sync images of two that are left', status)
  value = 1
  call prif_get(2_c_int, word_handle, 0_c_size_t, c_loc(value), 8_c_size_t, stat=status)
  call failed('get')
  call prif_put(2_c_int, word_handle, 0_c_size_t, c_loc(value), 8_c_size_t, stat=status)
  call failed('put')
  call prif_get(1_c_int, word_handle, 0_c_size_t, c_loc(value), 8_c_size_t, stat=status)
  call expect(status == 0 .and. value == 10, 'get from an image that is left', status)
  call prif_atomic_add(2_c_int, word_handle, 0_c_size_t, value, stat=status)
  call failed('an atomic subroutine')
  call prif_event_post(2_c_int, event_handle, 0_c_size_t, stat=status)
  call failed('event post')
  if (me == 1) call prif_event_post(3_c_int, event_handle, 0_c_size_t)
  if (me == 3) call prif_event_wait(c_loc(event), stat=status)
  if (me == 3) call expect(status == 0, 'event wait', status)
  total = 1
  call prif_co_sum(total, stat=status)
  call failed('co_sum')
  call prif_co_broadcast(total, 1_c_int, stat=status)
  call failed('co_broadcast')
  call make(1000_c_size_t, more, memory, stat=status)
  call failed('allocate')
  call prif_deallocate_coarray(more, stat=status)
  call failed('deallocate')

  if (me == 1) then
    call prif_lock(1_c_int, lock_handle, 0_c_size_t, stat=status)
    call expect(status == PRIF_STAT_UNLOCKED_FAILED_IMAGE, 'a lock of a failed image', status)
    call prif_unlock(1_c_int, lock_handle, 0_c_size_t, stat=status)
    call expect(status == 0, 'unlock', status)
    call prif_critical(critical_handle, stat=status)
    call failed('critical')
    call prif_end_critical(critical_handle)
  end if
  call prif_form_team(1_c_int64_t, left, stat=status)
  call failed('form team')
  call prif_change_team(left, stat=status)
  call expect(status == 0, 'change team', status)
  call prif_num_images(num_images=status)
  call expect(status == 3, 'images of the team', status)
  call make(8_c_size_t, more, memory, stat=status)
  call expect(status == 0, 'allocate in the team', status)
  total = 1
  call prif_co_sum(total, stat=status)
  call expect(status == 0 .and. total == 3, 'co_sum in the team', status)
  call prif_end_team(stat=status)
  call expect(status == 0, 'end team', status)
  if (me == 1) print '(a)', 'all was well'
  call prif_stop(.true._c_bool)
contains
  subroutine failed(what)
    character(*), intent(in) :: what
    call expect(status == PRIF_STAT_FAILED_IMAGE, what, status)
  end subroutine
end program
