! SPDX-License-Identifier: BSD-3-Clause
! The functions of <omnipgas/ompl_ext.h> for Fortran 2018, under their names and with their meaning; see omnipgas.f90 for kinds.
! Arguments that may be NULL in C are optional and last, or to be given by name. Numbers of flags and handles begin with 0,
! as in C. Variables of operations under way, and results of nonblocking atomics, need the target or asynchronous attribute.
module omnipgas_ext
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(C)
    enumerator :: OMPL_ADD32 = 0, OMPL_SET32, OMPL_ADD64, OMPL_SET64
  end enum
  enum, bind(C)
    enumerator :: OMPL_TAKE = 0, OMPL_EQ, OMPL_NE, OMPL_GT, OMPL_GE, OMPL_LT, OMPL_LE, OMPL_TAKE_MANY
  end enum
  enum, bind(C)
    enumerator :: OMPL_ATOMIC_FETCH = 0, OMPL_ATOMIC_SET, OMPL_ATOMIC_ADD, OMPL_ATOMIC_AND, OMPL_ATOMIC_OR, &
      OMPL_ATOMIC_XOR, OMPL_ATOMIC_CSWAP, OMPL_ATOMIC_UMIN, OMPL_ATOMIC_UMAX, OMPL_ATOMIC_SMIN, OMPL_ATOMIC_SMAX, &
      OMPL_ATOMIC_FADD, OMPL_ATOMIC_FMIN, OMPL_ATOMIC_FMAX
  end enum
  integer(c_int), parameter :: OMPL_RETRY_FULL = 2, OMPL_RETRY_MEMORY = 3, OMPL_RETRY_CONNECTING = 4, OMPL_RETRY_BUSY = 5
  integer(c_int), parameter :: OMPL_LOCAL = 1
  integer(c_int32_t), parameter :: OMPL_ALL_RANKS = -1  ! in place of a rank

  type, bind(C) :: ompl_signal
    integer(c_int64_t) :: flag_addr
    integer(c_int64_t) :: value = 1
    integer(c_int32_t) :: op = OMPL_ADD32
  end type

  type, bind(C) :: ompl_condition
    integer(c_int64_t) :: flag_addr
    integer(c_int64_t) :: value = 0
    integer(c_int32_t) :: comparison = OMPL_TAKE
    integer(c_int32_t) :: width = 32
  end type

  type, bind(C) :: ompl_handle
    integer(c_int64_t) :: opaque(12) = 0
  end type

  ! Extents and strides as c_loc of arrays of c_size_t and c_intptr_t, the outermost dimension first; strides are in bytes, c_null_ptr: packed.
  type, bind(C) :: ompl_strided
    integer(c_size_t) :: element
    integer(c_int32_t) :: dimensions
    type(c_ptr) :: extents
    type(c_ptr) :: local_strides = c_null_ptr, remote_strides = c_null_ptr
  end type

  ! Places in bytes, as c_loc of arrays of c_int64_t; c_null_ptr: packed.
  type, bind(C) :: ompl_indexed
    integer(c_size_t) :: element
    integer(c_size_t) :: count
    type(c_ptr) :: local = c_null_ptr, remote = c_null_ptr
  end type

  type, bind(C) :: ompl_watch
    integer(c_int64_t) :: opaque(8) = 0
  end type

  type, bind(C) :: ompl_statistics
    integer(c_size_t) :: size = 96
    integer(c_int64_t) :: puts = 0, put_bytes = 0, gets = 0, get_bytes = 0, signals = 0, atomics = 0
    integer(c_int64_t) :: waits = 0, retries = 0, yields = 0, sleeps = 0, failed_claims = 0
  end type

  ! Order and completion. A context that threads share: ompl_ctx_shared().
  interface
    integer(c_int) function ompl_ctx_fence(ctx, rank, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_flush_rank(ctx, rank, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_quiet_rank(ctx, rank, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_process_quiet() bind(C)
      import
    end function
    integer(c_int) function ompl_set_progress_thread(on) bind(C)
      import
      integer(c_int), value :: on
    end function
    integer(c_int) function ompl_progress_thread() bind(C)
      import
    end function
    integer(c_int) function ompl_handle_test_source(ctx, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handle
    end function
  end interface

  ! Signals and waits.
  interface
    integer(c_int) function ompl_ctx_signal(ctx, target_rank, signal, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      type(ompl_signal), intent(in) :: signal
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_signal_nb(ctx, target_rank, signal) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      type(ompl_signal), intent(in) :: signal
    end function
    integer(c_int) function ompl_ctx_wait_until(ctx, condition, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: condition
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_wait_any(ctx, conditions, count, which, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: which
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_wait_some(ctx, conditions, count, indices, found, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: indices(*), found
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_wait_all(ctx, conditions, count, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: timeout_ns
    end function
  end interface

  ! Blocks and lists of elements. `source` and `target` begin with the element of all indices 0, or with what the list counts from;
  ! a contiguous variable, or its first element. Sections of arrays are put and got by ompl_put() and ompl_get() of module omnipgas.
  interface
    integer(c_int) function ompl_ctx_put_strided(ctx, source, target_rank, dest_addr, block, signal, timeout_ns) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_strided), intent(in) :: block
      type(ompl_signal), intent(in), optional :: signal
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_get_strided(ctx, target, target_rank, dest_addr, block, timeout_ns) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_strided), intent(in) :: block
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_put_strided_nb(ctx, source, target_rank, dest_addr, block, signal, options, handle) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_strided), intent(in) :: block
      type(ompl_signal), intent(in), optional :: signal
      integer(c_int), value :: options
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_get_strided_nb(ctx, target, target_rank, dest_addr, block, handle) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_strided), intent(in) :: block
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_ctx_put_indexed(ctx, source, target_rank, dest_addr, list, signal, timeout_ns) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_indexed), intent(in) :: list
      type(ompl_signal), intent(in), optional :: signal
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_get_indexed(ctx, target, target_rank, dest_addr, list, timeout_ns) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_indexed), intent(in) :: list
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_put_indexed_nb(ctx, source, target_rank, dest_addr, list, signal, options, handle) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_indexed), intent(in) :: list
      type(ompl_signal), intent(in), optional :: signal
      integer(c_int), value :: options
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_get_indexed_nb(ctx, target, target_rank, dest_addr, list, handle) &
      bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      type(ompl_indexed), intent(in) :: list
      type(ompl_handle), intent(inout), optional :: handle
    end function
  end interface

  ! Nonblocking operations. The data: any contiguous variable, its first `length` bytes.
  interface
    integer(c_int) function ompl_put_nb(ctx, source, target_rank, dest_addr, length, signal, options, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      integer(c_size_t), value :: length
      type(ompl_signal), intent(in), optional :: signal
      integer(c_int), value :: options
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_get_nb(ctx, target, target_rank, dest_addr, length, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      integer(c_size_t), value :: length
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_handle_test(ctx, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handle
    end function
    integer(c_int) function ompl_handle_wait(ctx, handle, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handle
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_handle_wait_any(ctx, handles, count, which, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handles(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: which
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_handle_wait_some(ctx, handles, count, indices, found, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handles(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: indices(*), found
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_handle_wait_all(ctx, handles, count, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_handle), intent(inout) :: handles(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: timeout_ns
    end function
  end interface

  ! Atomics; each of the named ones of ompl_ext.h is one of these.
  interface
    integer(c_int) function ompl_ctx_atomic32(ctx, target_rank, addr, op, operand, compare, before, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: addr
      integer(c_int), value :: op
      integer(c_int32_t), value :: operand, compare
      integer(c_int32_t), intent(inout), optional :: before
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_atomic64(ctx, target_rank, addr, op, operand, compare, before, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: addr
      integer(c_int), value :: op
      integer(c_int64_t), value :: operand, compare
      integer(c_int64_t), intent(inout), optional :: before
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_atomic32_nb(ctx, target_rank, addr, op, operand, compare, before, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: addr
      integer(c_int), value :: op
      integer(c_int32_t), value :: operand, compare
      integer(c_int32_t), intent(inout), asynchronous, optional :: before
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_atomic64_nb(ctx, target_rank, addr, op, operand, compare, before, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: addr
      integer(c_int), value :: op
      integer(c_int64_t), value :: operand, compare
      integer(c_int64_t), intent(inout), asynchronous, optional :: before
      type(ompl_handle), intent(inout), optional :: handle
    end function
  end interface

  ! Regions, progress, the job, counters. address: c_loc() of the variable; callback: c_funloc() of a
  ! `subroutine callback(arg, code) bind(C)` with `type(c_ptr), value :: arg` and `integer(c_int), value :: code`;
  ! why: a text that ends with c_null_char.
  interface
    integer(c_int) function ompl_register(address, length) bind(C)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_unregister(address) bind(C)
      import
      type(c_ptr), value :: address
    end function
    integer(c_int) function ompl_mpi_lock() bind(C)
      import
    end function
    integer(c_int) function ompl_mpi_unlock() bind(C)
      import
    end function
    integer(c_int) function ompl_progress(ctx, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_handle_then(handle, callback, arg) bind(C)
      import
      type(ompl_handle), intent(inout) :: handle
      type(c_funptr), value :: callback
      type(c_ptr), value :: arg
    end function
    integer(c_int) function ompl_flag_then(watch, condition, callback, arg) bind(C)
      import
      type(ompl_watch), intent(inout) :: watch
      type(ompl_condition), intent(in) :: condition
      type(c_funptr), value :: callback
      type(c_ptr), value :: arg
    end function
    subroutine ompl_abort(exit_code, why) bind(C)
      import
      integer(c_int), value :: exit_code
      character(kind=c_char), intent(in) :: why(*)
    end subroutine
    integer(c_int) function ompl_job_exit(status) bind(C)
      import
      integer(c_int), value :: status
    end function
    ! ranks(capacity); not to be given to learn the number alone, with a capacity of 0.
    integer(c_int) function ompl_failed_ranks(ranks, capacity, count) bind(C)
      import
      integer(c_int32_t), intent(inout), optional :: ranks(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function ompl_stop() bind(C)
      import
    end function
    integer(c_int) function ompl_stopped_ranks(ranks, capacity, count) bind(C)
      import
      integer(c_int32_t), intent(inout), optional :: ranks(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function ompl_ctx_statistics(ctx, statistics) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_statistics), intent(inout) :: statistics
    end function
  end interface

end module omnipgas_ext
