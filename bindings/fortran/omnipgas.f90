! SPDX-License-Identifier: BSD-3-Clause
! OMPL for Fortran 2018: the functions of <omnipgas/ompl.h> under their names. Meaning, ordering, threads, progress
! and results are those of the C header; every function returns its code and prints nothing of its own.
!
! Kinds. Ranks are integer(c_int32_t), the default integer; offsets and nanoseconds integer(c_int64_t); lengths, in
! bytes, integer(c_size_t), as c_sizeof() gives them. A context is a type(c_ptr), c_null_ptr standing for the calling
! thread's implicit one.
!
! Data. ompl_put, ompl_get, ompl_put_signal and their ompl_ctx_ forms exist twice:
!  - with a length, as in C, and as fast: any contiguous variable, its first `length` bytes;
!  - without: any scalar, array or section of any intrinsic type or of a type whose bytes are its value, whole. At the target it
!    lies packed in array element order. These have no time limit.
!
! Views. `call c_f_pointer(ompl_ptr(rank, offset), view, shape)` makes the memory of a rank that is mapped here a
! Fortran array. Declare it `volatile` (or `asynchronous`), since other ranks write there.
module omnipgas
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: ompl_strerror, ompl_error_detail, ompl_version
  public :: ompl_init, ompl_finalize, ompl_rank, ompl_size, ompl_node_rank, ompl_node_size
  public :: ompl_barrier, ompl_barrier_timed, ompl_alloc, ompl_free, ompl_ptr
  public :: ompl_put, ompl_get, ompl_put_word, ompl_wait, ompl_poll, ompl_put_signal, ompl_flush, ompl_quiet
  public :: ompl_ctx_create, ompl_ctx_destroy, ompl_ctx_put, ompl_ctx_get, ompl_ctx_put_word
  public :: ompl_ctx_put_signal, ompl_ctx_wait, ompl_ctx_flush, ompl_ctx_quiet
  public :: ompl_set_yield, ompl_failure_ack

  integer(c_int), parameter, public :: OMPL_OK = 0, OMPL_PENDING = 1
  integer(c_int), parameter, public :: OMPL_ERR_STATE = -1, OMPL_ERR_RANK = -2, OMPL_ERR_OFFSET = -3
  integer(c_int), parameter, public :: OMPL_ERR_ALIGN = -4, OMPL_ERR_LENGTH = -5, OMPL_ERR_ARG = -6
  integer(c_int), parameter, public :: OMPL_ERR_MEMORY = -7, OMPL_ERR_PEER = -8, OMPL_ERR_LINK = -9
  integer(c_int), parameter, public :: OMPL_ERR_TIMEOUT = -10, OMPL_ERR_LAUNCH = -11
  integer(c_int), parameter, public :: OMPL_ERR_UNSUPPORTED = -12, OMPL_ERR_SYSTEM = -13

  integer(c_int64_t), parameter, public :: OMPL_FOREVER = -1_c_int64_t

  ! Beginning and end, memory.
  interface
    integer(c_int) function ompl_init() bind(C)
      import
    end function
    integer(c_int) function ompl_finalize() bind(C)
      import
    end function
    integer(c_int) function ompl_rank() bind(C)
      import
    end function
    integer(c_int) function ompl_size() bind(C)
      import
    end function
    integer(c_int) function ompl_node_rank() bind(C)
      import
    end function
    integer(c_int) function ompl_node_size() bind(C)
      import
    end function
    integer(c_int) function ompl_barrier() bind(C)
      import
    end function
    integer(c_int) function ompl_barrier_timed(timeout_ns) bind(C)
      import
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_alloc(size, offset) bind(C)
      import
      integer(c_size_t), value :: size
      integer(c_int64_t), intent(inout) :: offset
    end function
    integer(c_int) function ompl_free(offset) bind(C)
      import
      integer(c_int64_t), value :: offset
    end function
    type(c_ptr) function ompl_ptr(rank, offset) bind(C)
      import
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: offset
    end function
  end interface

  ! Put and get: the C functions, then the forms for any section (sections.c).
  interface ompl_put
    integer(c_int) function ompl_put_bytes(source, target_rank, dest_addr, length) bind(C, name="ompl_put")
      import
      type(*), intent(in) :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_put(source, target_rank, dest_addr) bind(C)
      import
      type(*), intent(in) :: source(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
    end function
  end interface

  interface ompl_get
    integer(c_int) function ompl_get_bytes(target, target_rank, dest_addr, length) bind(C, name="ompl_get")
      import
      type(*), intent(inout) :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_get(target, target_rank, dest_addr) bind(C)
      import
      type(*), intent(inout) :: target(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
    end function
  end interface

  interface ompl_put_signal
    integer(c_int) function ompl_put_signal_bytes(source, target_rank, dest_addr, length, flag_addr) &
        bind(C, name="ompl_put_signal")
      import
      type(*), intent(in) :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, flag_addr
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_put_signal(source, target_rank, dest_addr, flag) bind(C)
      import
      type(*), intent(in) :: source(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, flag
    end function
  end interface

  ! Signals and waits.
  interface
    integer(c_int) function ompl_put_word(target_rank, flag_addr) bind(C)
      import
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: flag_addr
    end function
    integer(c_int) function ompl_wait(flag_addr) bind(C)
      import
      integer(c_int64_t), value :: flag_addr
    end function
    integer(c_int) function ompl_poll(flag_addr) bind(C)
      import
      integer(c_int64_t), value :: flag_addr
    end function
    integer(c_int) function ompl_flush() bind(C)
      import
    end function
    integer(c_int) function ompl_quiet() bind(C)
      import
    end function
  end interface

  ! Explicit contexts and time limits. OMPL_PENDING: the variable is in use until a flush, so give it the asynchronous
  ! attribute, and let it be contiguous: a copy made for the call would be gone.
  interface ompl_ctx_put
    integer(c_int) function ompl_ctx_put_bytes(ctx, source, target_rank, dest_addr, length, timeout_ns) &
        bind(C, name="ompl_ctx_put")
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, timeout_ns
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_ctx_put(ctx, source, target_rank, dest_addr) bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in) :: source(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
    end function
  end interface

  interface ompl_ctx_get
    integer(c_int) function ompl_ctx_get_bytes(ctx, target, target_rank, dest_addr, length, timeout_ns) &
        bind(C, name="ompl_ctx_get")
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout), asynchronous :: target(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, timeout_ns
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_ctx_get(ctx, target, target_rank, dest_addr) bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(inout) :: target(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr
    end function
  end interface

  interface ompl_ctx_put_signal
    integer(c_int) function ompl_ctx_put_signal_bytes(ctx, source, target_rank, dest_addr, length, flag_addr, &
        timeout_ns) bind(C, name="ompl_ctx_put_signal")
      import
      type(c_ptr), value :: ctx
      type(*), intent(in), asynchronous :: source(*)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, flag_addr, timeout_ns
      integer(c_size_t), value :: length
    end function
    integer(c_int) function ompl_fortran_ctx_put_signal(ctx, source, target_rank, dest_addr, flag) bind(C)
      import
      type(c_ptr), value :: ctx
      type(*), intent(in) :: source(..)
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: dest_addr, flag
    end function
  end interface

  interface
    integer(c_int) function ompl_ctx_create(ctx) bind(C)
      import
      type(c_ptr), intent(inout) :: ctx
    end function
    integer(c_int) function ompl_ctx_destroy(ctx) bind(C)
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function ompl_ctx_put_word(ctx, target_rank, flag_addr, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      integer(c_int64_t), value :: flag_addr, timeout_ns
    end function
    integer(c_int) function ompl_ctx_wait(ctx, flag_addr, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: flag_addr, timeout_ns
    end function
    integer(c_int) function ompl_ctx_flush(ctx, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_ctx_quiet(ctx, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: timeout_ns
    end function

    ! hook: c_funloc of an `integer(c_int) function hook(arg) bind(C)` with `type(c_ptr), value :: arg`.
    integer(c_int) function ompl_set_yield(hook, arg) bind(C)
      import
      type(c_funptr), value :: hook
      type(c_ptr), value :: arg
    end function
    integer(c_int) function ompl_failure_ack() bind(C)
      import
    end function
  end interface

  interface
    type(c_ptr) function c_strerror(code) bind(C, name="ompl_strerror")
      import
      integer(c_int), value :: code
    end function
    type(c_ptr) function c_error_detail() bind(C, name="ompl_error_detail")
      import
    end function
    type(c_ptr) function c_version() bind(C, name="ompl_version")
      import
    end function
    integer(c_size_t) function strlen(text) bind(C)
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! The C string as a Fortran one.
  function string(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: copy
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(text, letters, [strlen(text)])
    allocate (character(kind=c_char, len=size(letters)) :: copy)
    do i = 1, size(letters)
      copy(i:i) = letters(i)
    end do
  end function

  function ompl_strerror(code) result(text)
    integer(c_int), intent(in) :: code
    character(kind=c_char, len=:), allocatable :: text
    text = string(c_strerror(code))
  end function

  function ompl_error_detail() result(text)
    character(kind=c_char, len=:), allocatable :: text
    text = string(c_error_detail())
  end function

  function ompl_version() result(text)
    character(kind=c_char, len=:), allocatable :: text
    text = string(c_version())
  end function

end module omnipgas
