! SPDX-License-Identifier: BSD-3-Clause
! Module omnipgas_ext on two ranks: signals of any value, waits on several flags, handles, atomics, callbacks.
module called
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine note(arg, code) bind(C)
    type(c_ptr), value :: arg
    integer(c_int), value :: code
    integer(c_int), pointer :: seen
    call c_f_pointer(arg, seen)
    seen = 100 + code
  end subroutine
end module called

program fortran_ext_test
  use expectations
  use omnipgas
  use omnipgas_ext
  use omnipgas_memory
  use called
  implicit none
  integer :: rank, partner, code
  integer(c_int64_t) :: box, words
  integer(c_int64_t), parameter :: long_ns = 200000000000_c_int64_t
  integer(c_int64_t), pointer, volatile :: mine(:)

  call expect(ompl_init() == OMPL_OK, "ompl_init")
  rank = ompl_rank()
  partner = 1 - rank
  if (ompl_size() /= 2) error stop "these tests need two ranks"
  call expect(ompl_alloc(800_c_size_t, box) == OMPL_OK, "ompl_alloc")
  call expect(ompl_alloc(64_c_size_t, words) == OMPL_OK, "ompl_alloc")
  call c_f_pointer(ompl_ptr(rank, words), mine, [8])
  call expect(all(c_sizeof(ompl_signal(0)) == [24_c_size_t]) .and. c_sizeof(ompl_condition(0)) == 24 .and. &
              c_sizeof(ompl_handle()) == 96 .and. c_sizeof(ompl_watch()) == 64 .and. c_sizeof(ompl_statistics()) == 96, &
              "types as in C")
  call signals()
  call operations()
  call blocks()
  call atomics()
  call local_memory()
  call memory_waits()
  call callbacks()
  call stopping()
  call expect(ompl_finalize() == OMPL_OK, "ompl_finalize")
  call report()

contains

  subroutine meet()
    call expect(ompl_barrier() == OMPL_OK, "ompl_barrier")
  end subroutine

  subroutine signals()
    type(ompl_condition) :: conditions(2)
    integer(c_size_t) :: which, indices(2), found
    code = ompl_ctx_signal(c_null_ptr, partner, ompl_signal(words, -5_c_int64_t, OMPL_SET64), OMPL_FOREVER)
    call expect(code == OMPL_OK, "signal")
    code = ompl_ctx_wait_until(c_null_ptr, ompl_condition(words, 0_c_int64_t, OMPL_LT, 64), long_ns)
    call expect(code == OMPL_OK, "wait_until")
    call expect(mine(1) == -5, "the value of the signal")
    code = ompl_ctx_wait_until(c_null_ptr, ompl_condition(words, 0_c_int64_t, OMPL_GE, 64), 1000000_c_int64_t)
    call expect(code == OMPL_ERR_TIMEOUT, "wait_until with a limit")
    conditions = [ompl_condition(words + 8), ompl_condition(words + 16)]
    call meet()
    call expect(ompl_signal_nb(c_null_ptr, partner, ompl_signal(words + 16)) == OMPL_OK, "signal_nb")
    code = ompl_ctx_wait_any(c_null_ptr, conditions, 2_c_size_t, which, long_ns)
    call expect(code == OMPL_OK .and. which == 1, "wait_any")
    call meet()
    call expect(ompl_put_word(partner, words + 8) == OMPL_OK, "put_word")
    code = ompl_ctx_wait_some(c_null_ptr, conditions, 2_c_size_t, indices, found, long_ns)
    call expect(code == OMPL_OK .and. found == 1 .and. indices(1) == 0, "wait_some")
    call meet()
    call expect(all([ompl_put_word(partner, words + 8), ompl_put_word(partner, words + 16)] == OMPL_OK), "put_word")
    call expect(ompl_ctx_wait_all(c_null_ptr, conditions, 2_c_size_t, long_ns) == OMPL_OK, "wait_all")
    call meet()
  end subroutine

  subroutine operations()
    integer(c_int), asynchronous :: source(100), back(100)
    type(ompl_handle) :: handles(2)
    integer(c_size_t) :: which
    integer :: i
    source = [(1000 * rank + i, i=1, 100)]
    do
      code = ompl_put_nb(c_null_ptr, source, partner, box, 400_c_size_t, ompl_signal(words + 24), 0, handles(1))
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(code >= OMPL_OK, "put_nb")
    call expect(ompl_handle_wait(c_null_ptr, handles(1), long_ns) == OMPL_OK, "handle_wait")
    call expect(ompl_wait(words + 24) == OMPL_OK, "its signal")
    do
      code = ompl_get_nb(c_null_ptr, back, partner, box, 400_c_size_t, handles(2))
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(ompl_handle_wait_all(c_null_ptr, handles, 2_c_size_t, long_ns) == OMPL_OK, "handle_wait_all")
    call expect(all(back == source), "what was put comes back")
    call expect(ompl_handle_test(c_null_ptr, handles(2)) == 1, "handle_test")
    call expect(ompl_handle_wait_any(c_null_ptr, handles, 2_c_size_t, which, long_ns) == OMPL_OK, "handle_wait_any")
    call expect(which == -1, "no handle stands for an operation")
    code = ompl_put_nb(c_null_ptr, source(5), partner, box + 40, 4_c_size_t, options=OMPL_LOCAL) ! neither signal nor handle
    call expect(code == OMPL_OK .or. code == OMPL_PENDING, "put_nb without signal and handle")
    call expect(ompl_flush() == OMPL_OK, "flush")
    code = ompl_get(back, partner, box + 40, 4_c_size_t)
    call expect(code == OMPL_OK .and. back(1) == source(5), "it arrived")
    call meet()
  end subroutine

  ! Every other element of the partner's box, as a block and as a list.
  subroutine blocks()
    integer(c_int), asynchronous :: source(20), back(20)
    integer(c_size_t), target :: extents(1) = [20_c_size_t]
    integer(c_intptr_t), target :: strides(1) = [8_c_intptr_t]
    integer(c_int64_t), target :: places(20)
    type(ompl_strided) :: block
    type(ompl_indexed) :: list
    type(ompl_handle) :: handle
    integer :: i
    source = [(2000 * rank + i, i=1, 20)]
    places = [(8_c_int64_t * (i - 1), i=1, 20)]
    block = ompl_strided(4_c_size_t, 1, c_loc(extents), remote_strides=c_loc(strides))
    list = ompl_indexed(4_c_size_t, 20_c_size_t, remote=c_loc(places))
    do
      code = ompl_put_strided_nb(c_null_ptr, source, partner, box, block, ompl_signal(words + 24), 0, handle)
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(code >= OMPL_OK, "put_strided_nb")
    call expect(ompl_handle_wait(c_null_ptr, handle, long_ns) == OMPL_OK, "its handle")
    call expect(ompl_wait(words + 24) == OMPL_OK, "its signal")
    back = 0
    do
      code = ompl_get_indexed_nb(c_null_ptr, back, partner, box, list, handle)
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(code >= OMPL_OK, "get_indexed_nb")
    call expect(ompl_handle_wait(c_null_ptr, handle, long_ns) == OMPL_OK, "its handle")
    call expect(all(back == source), "what was put as a block comes back as a list")
    call meet()
    source = -source
    do
      code = ompl_put_indexed_nb(c_null_ptr, source, partner, box, list, options=0)  ! neither signal nor handle
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(ompl_flush() == OMPL_OK, "flush")
    do
      code = ompl_get_strided_nb(c_null_ptr, back, partner, box, block, handle)
      if (code <= OMPL_PENDING) exit
      code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
    end do
    call expect(ompl_handle_wait(c_null_ptr, handle, long_ns) == OMPL_OK, "get_strided_nb")
    call expect(all(back == source), "what was put as a list comes back as a block")
    call expect(all([ompl_ctx_put_strided(c_null_ptr, source, partner, box, block, timeout_ns=OMPL_FOREVER), &
      ompl_ctx_put_indexed(c_null_ptr, source, partner, box, list, timeout_ns=OMPL_FOREVER)] == OMPL_OK), "the puts that wait")
    call expect(ompl_flush() == OMPL_OK, "flush")
    back = 0
    code = ompl_ctx_get_strided(c_null_ptr, back, partner, box, block, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. all(back == source), "ctx_get_strided")
    back = 0
    code = ompl_ctx_get_indexed(c_null_ptr, back, partner, box, list, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. all(back == source), "ctx_get_indexed")
    call meet()
  end subroutine

  subroutine atomics()
    integer(c_int64_t) :: before
    integer(c_int32_t) :: before32
    before = 0
    code = ompl_ctx_atomic64(c_null_ptr, 0, words + 32, OMPL_ATOMIC_ADD, 21_c_int64_t, 0_c_int64_t, timeout_ns=OMPL_FOREVER)
    call expect(all([code, ompl_quiet()] == OMPL_OK), "an atomic without an answer")
    call meet()
    code = ompl_ctx_atomic64(c_null_ptr, 0, words + 32, OMPL_ATOMIC_FETCH, 0_c_int64_t, 0_c_int64_t, before, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. before == 42, "fetch")
    code = ompl_ctx_atomic32(c_null_ptr, partner, words + 40, OMPL_ATOMIC_CSWAP, 7, 0, before32, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. before32 == 0, "compare and swap")
    code = ompl_ctx_fence(c_null_ptr, OMPL_ALL_RANKS, OMPL_FOREVER)
    call expect(all([code, ompl_ctx_flush_rank(c_null_ptr, partner, OMPL_FOREVER), &
      ompl_ctx_quiet_rank(c_null_ptr, partner, OMPL_FOREVER), ompl_process_quiet()] == OMPL_OK), "order and completion")
    call expect(all([ompl_set_progress_thread(1), ompl_progress_thread(), ompl_set_progress_thread(0), &
      ompl_progress_thread()] == [OMPL_OK, 1, OMPL_OK, 0]), "progress thread")
    code = ompl_ctx_atomic32(c_null_ptr, partner, words + 40, OMPL_ATOMIC_SMIN, -3, 0, before32, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. before32 == 7, "minimum")
    code = ompl_ctx_atomic32(c_null_ptr, partner, words + 40, OMPL_ATOMIC_SMAX, 7, 0, before32, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. before32 == -3, "maximum")
    call meet()
    call expect(mine(6) == 7, "it was set")
    call meet()
  end subroutine

  ! Words of one rank alone, whose offset the other one is told.
  subroutine local_memory()
    integer(c_int64_t) :: told, mine
    integer(c_int64_t), pointer :: theirs, word
    integer(c_int64_t) :: before
    call expect(ompl_alloc(8_c_size_t, told) == OMPL_OK, "alloc")
    call expect(ompl_alloc_local(64_c_size_t, mine) == OMPL_OK, "alloc_local")
    call expect(ompl_accept_local() == OMPL_OK, "accept_local")
    code = ompl_ctx_atomic64(c_null_ptr, partner, told, OMPL_ATOMIC_ADD, mine, 0_c_int64_t, before, OMPL_FOREVER)
    call expect(code == OMPL_OK, "tell")
    call meet()
    call c_f_pointer(ompl_ptr(ompl_rank(), told), theirs)
    code = ompl_ctx_atomic64(c_null_ptr, partner, theirs, OMPL_ATOMIC_ADD, 5_c_int64_t, 0_c_int64_t, before, OMPL_FOREVER)
    call expect(code == OMPL_OK .and. before == 0, "add there")
    call meet()
    call c_f_pointer(ompl_ptr(ompl_rank(), mine), word)
    call expect(word == 5, "the word that the other rank has changed")
    call expect(ompl_free_local(mine) == OMPL_OK, "free_local")
    call expect(ompl_free_local(mine) == OMPL_ERR_OFFSET, "free_local of what is free")
    call expect(ompl_adopt_local(c_null_ptr, 4096_c_size_t, mine) == OMPL_ERR_ARG, "adopt_local")
    call expect(ompl_free(told) == OMPL_OK, "free")
  end subroutine

  ! Plain puts end them.
  subroutine memory_waits()
    integer(c_int64_t) :: place
    type(ompl_condition) :: conditions(2)
    integer(c_size_t) :: which, indices(2), found
    call expect(ompl_alloc(16_c_size_t, place) == OMPL_OK, "alloc")
    conditions = [ompl_condition(place, 0_c_int64_t, OMPL_LT + OMPL_SIGNED, 16), &
                  ompl_condition(place + 8, 7_c_int64_t, OMPL_EQ, 64)]
    code = ompl_wait_memory(c_null_ptr, conditions(1), 1000000_c_int64_t)
    call expect(code == OMPL_ERR_TIMEOUT, "wait_memory with a limit")
    call meet()
    call expect(ompl_put(-2_c_int16_t, partner, place) == OMPL_OK, "put")
    call expect(ompl_wait_memory(c_null_ptr, conditions(1), long_ns) == OMPL_OK, "wait_memory")
    which = 7
    code = ompl_wait_memory_any(c_null_ptr, conditions, 2_c_size_t, which, long_ns)
    call expect(code == OMPL_OK .and. which == 0, "wait_memory_any")
    code = ompl_wait_memory_some(c_null_ptr, conditions, 2_c_size_t, indices, found, long_ns)
    call expect(code == OMPL_OK .and. found == 1 .and. indices(1) == 0, "wait_memory_some")
    call meet()
    call expect(ompl_put(7_c_int64_t, partner, place + 8) == OMPL_OK, "put")
    call expect(ompl_flush() == OMPL_OK, "flush")
    call expect(ompl_wait_memory_all(c_null_ptr, conditions, 2_c_size_t, long_ns) == OMPL_OK, "wait_memory_all")
    call expect(ompl_free(place) == OMPL_OK, "free")
  end subroutine

  subroutine callbacks()
    integer(c_int), target, volatile :: seen
    type(ompl_watch) :: watch
    type(ompl_statistics) :: counts
    integer(c_int32_t) :: ranks(2)
    integer(c_size_t) :: failed
    seen = 0
    code = ompl_flag_then(watch, ompl_condition(words + 48), c_funloc(note), c_loc(seen))
    call expect(code == OMPL_OK .and. seen == 0, "flag_then")
    call expect(ompl_put_word(partner, words + 48) == OMPL_OK, "put_word")
    do while (seen == 0)
      code = ompl_progress(c_null_ptr, 10000000_c_int64_t)
    end do
    call expect(seen == 100, "called with OMPL_OK")
    call expect(ompl_ctx_statistics(c_null_ptr, counts) == OMPL_ERR_UNSUPPORTED, "statistics are off")
    failed = 7
    call expect(ompl_failed_ranks(ranks, 2_c_size_t, failed) == OMPL_OK .and. failed == 0, "no rank has failed")
    call expect(ompl_failed_ranks(capacity=0_c_size_t, count=failed) == OMPL_OK, "their number alone")
    call meet()
  end subroutine

  ! Rank 1 stops, which rank 0 finds out.
  subroutine stopping()
    integer(c_int32_t) :: ranks(2)
    integer(c_size_t) :: stopped
    stopped = 7
    call expect(ompl_stopped_ranks(capacity=0_c_size_t, count=stopped) == OMPL_OK .and. (stopped == 0 .or. rank == 0), "none")
    if (rank == 1) then
      call expect(ompl_stop() == OMPL_OK, "stop")
    end if
    do
      code = ompl_stopped_ranks(ranks, 2_c_size_t, stopped)
      if (code /= OMPL_OK .or. stopped > 0) exit
      code = ompl_progress(c_null_ptr, 10000000_c_int64_t)
    end do
    call expect(code == OMPL_OK .and. stopped == 1 .and. ranks(1) == 1, "stopped_ranks")
  end subroutine

end program fortran_ext_test
