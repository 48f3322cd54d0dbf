! SPDX-License-Identifier: BSD-3-Clause
! The functions of <omnipgas/ompl_calls.h> for Fortran 2018, under their names and with their meaning: remote calls. See
! omnipgas.f90 for kinds. A function that others call is a bind(C) procedure with the interface ompl_call_fn; it is given as
! c_funloc() of it. Texts end with c_null_char. The address of a payload: transfer(c_loc(x), 0_c_int64_t).
module omnipgas_calls
  use, intrinsic :: iso_c_binding
  use omnipgas_ext, only: ompl_handle
  implicit none
  private :: ompl_handle
  public

  integer, parameter :: OMPL_CALL_ARGUMENTS = 4000, OMPL_CALL_FUNCTIONS = 1024, OMPL_CALL_QUEUE = 65536

  ! What a function is told. Its arguments: call c_f_pointer(call%arguments, view).
  type, bind(C) :: ompl_call_context
    type(c_ptr) :: context
    integer(c_int32_t) :: source, function
    type(c_ptr) :: arguments
    integer(c_size_t) :: length
    integer(c_int64_t) :: payload
    integer(c_size_t) :: payload_length
  end type

  type, bind(C) :: ompl_call_request
    integer(c_int32_t) :: function = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: arguments = c_null_ptr
    integer(c_size_t) :: length = 0
    integer(c_int64_t) :: src_addr = 0, dest_addr = 0
    integer(c_size_t) :: payload_length = 0
  end type

  abstract interface
    integer(c_int64_t) function ompl_call_fn(user, call) bind(C)
      import
      type(c_ptr), value :: user
      type(ompl_call_context), intent(in) :: call
    end function
  end interface

  interface
    integer(c_int) function ompl_call_register(name, code, user, function) bind(C)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: code
      type(c_ptr), value :: user
      integer(c_int32_t), intent(inout) :: function
    end function
    ! Without `reply` nothing is waited for.
    integer(c_int) function ompl_call(ctx, target_rank, request, reply, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      type(ompl_call_request), intent(in) :: request
      integer(c_int64_t), intent(inout), optional :: reply
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_call_nb(ctx, target_rank, request, reply, handle) bind(C)
      import
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: target_rank
      type(ompl_call_request), intent(in) :: request
      integer(c_int64_t), intent(inout), asynchronous, optional :: reply
      type(ompl_handle), intent(inout), optional :: handle
    end function
    integer(c_int) function ompl_call_fail(why) bind(C)
      import
      character(kind=c_char), intent(in), optional :: why(*)
    end function
  end interface

end module omnipgas_calls
