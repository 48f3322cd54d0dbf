! SPDX-License-Identifier: BSD-3-Clause
! Events, locks, critical constructs, atomics, and what orders them.
program words
  use iso_fortran_env
  use check
  implicit none
  type(event_type) :: ready[*], several(3)[*]
  type(event_type), allocatable :: posted(:)[:]
  type(lock_type) :: guard[*], guards(2)[*]
  type(lock_type), allocatable :: more(:)[:]
  integer(atomic_int_kind) :: word[*], bits(2)[*], old
  logical(atomic_logical_kind) :: flag[*]
  logical(atomic_logical_kind) :: seen
  integer :: total[*], data(1000)[*]
  integer :: me, next, before, count, i, times, status
  logical :: mine
  character(60) :: text

  me = this_image()
  next = merge(1, me + 1, me == num_images())
  before = merge(num_images(), me - 1, me == 1)

  ! an event follows the data
  do i = 1, 20
    data(:)[next] = 1000 * me + i
    event post (ready[next])
    event wait (ready)
    call expect(all(data == 1000 * before + i), 'data before an event')
    sync all
  end do
  call event_query(ready, count)
  call expect(count == 0, 'all events are taken')
  do i = 1, 5
    event post (several(2)[next], stat=status)
    call expect(status == 0, 'stat of event post')
  end do
  sync all
  call event_query(several(2), count)
  call expect(count == 5, 'five are there')
  event wait (several(2), until_count=3)
  call event_query(several(2), count, stat=status)
  call expect(count == 2 .and. status == 0, 'three are taken')
  event wait (several(2), until_count=2)
  allocate (posted(2)[*])
  event post (posted(2)[next])
  event wait (posted(2))
  event post (posted(1)[me])
  event wait (posted(1))
  deallocate (posted)

  ! locks
  total = 0
  sync all
  do times = 1, 50
    lock (guard[1])
    i = total[1]
    total[1] = i + 1
    unlock (guard[1])
  end do
  sync all
  if (me == 1) call expect(total == 50 * num_images(), 'locks exclude')
  lock (guards(2)[me], stat=status)
  call expect(status == 0, 'stat of lock')
  lock (guards(2)[me], stat=status, errmsg=text)
  call expect(status == stat_locked .and. index(text, 'locked it already') > 0, 'locked by itself')
  sync all
  if (num_images() > 1) then
    lock (guards(2)[next], acquired_lock=mine)
    call expect(.not. mine, 'locked by another image')
    unlock (guards(2)[next], stat=status)
    call expect(status == stat_locked_other_image, 'unlocking what another has locked')
  end if
  sync all
  unlock (guards(2)[me])
  allocate (more(2)[*])
  lock (more(1)[next])
  unlock (more(1)[next])
  deallocate (more)

  ! critical
  total = 0
  sync all
  do times = 1, 50
    critical
      i = total[1]
      total[1] = i + 1
    end critical
  end do
  sync all
  if (me == 1) call expect(total == 50 * num_images(), 'critical excludes')

  ! atomics
  call atomic_define(word, me)
  sync all
  call atomic_ref(old, word[next])
  call expect(old == next, 'atomic_ref')
  sync all
  call atomic_define(word[next], 0)
  sync all
  do i = 1, 100
    call atomic_add(word[1], 1)
  end do
  sync all
  call atomic_ref(old, word[1])
  call expect(old == 100 * num_images(), 'atomic_add')
  sync all
  call atomic_fetch_add(word[1], 1000, old)
  sync all
  call atomic_ref(old, word[1], stat=status)
  call expect(old == 1100 * num_images() .and. status == 0, 'atomic_fetch_add')
  bits = int(z'ff')
  sync all
  call atomic_and(bits(2)[next], int(z'f0'))
  call atomic_or(bits(2)[next], int(z'100'))
  call atomic_xor(bits(2)[next], int(z'10'))
  sync all
  call atomic_ref(old, bits(2))
  call expect(old == int(z'1e0') .and. bits(1) == int(z'ff'), 'atomic_and, or, xor')
  sync all
  call atomic_fetch_and(bits(1)[next], int(z'0f'), old)
  call expect(old == int(z'ff'), 'atomic_fetch_and')
  call atomic_fetch_or(bits(1)[next], int(z'30'), old)
  call expect(old == int(z'0f'), 'atomic_fetch_or')
  call atomic_fetch_xor(bits(1)[next], int(z'01'), old)
  call expect(old == int(z'3f'), 'atomic_fetch_xor')
  sync all
  call atomic_cas(bits(1)[next], old, int(z'3e'), me)
  call expect(old == int(z'3e'), 'atomic_cas')
  sync all
  call atomic_ref(old, bits(1))
  call expect(old == before, 'atomic_cas has stored')
  flag = .false.
  sync all
  call atomic_define(flag[next], .true.)
  do
    call atomic_ref(seen, flag)  ! a loop without image control
    if (seen) exit
  end do

  ! sync images, sync memory
  sync all
  if (me == 1) then
    data = 3
    sync images (*)
  else
    sync images (1)
    call expect(data(1)[1] == 3, 'sync images')
  end if
  sync images ([next, before], stat=status)
  if (num_images() > 2) call expect(status == 0, 'a list of images')
  sync memory (stat=status)
  call expect(status == 0, 'sync memory')
  sync all (stat=status, errmsg=text)
  call expect(status == 0, 'sync all')
end program
