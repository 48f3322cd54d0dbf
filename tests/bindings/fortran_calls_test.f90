! SPDX-License-Identifier: BSD-3-Clause
! Module omnipgas_calls on two ranks: arguments, payload and replies, a call back, a function that fails.
module functions
  use omnipgas
  use omnipgas_calls
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int32_t) :: answer_number
  integer(c_int), volatile :: heard = 0
contains
  ! The sum of the arguments, of what `user` is, and of the payload's first element if there is one.
  integer(c_int64_t) function total(user, call) bind(C)
    type(c_ptr), value :: user
    type(ompl_call_context), intent(in) :: call
    integer(c_int64_t), pointer :: numbers(:), own, first
    call c_f_pointer(call%arguments, numbers, [call%length / 8])
    call c_f_pointer(user, own)
    total = sum(numbers) + own
    if (call%payload_length == 0) return
    call c_f_pointer(ompl_ptr(ompl_rank(), call%payload), first)
    total = total + first
  end function
  integer(c_int64_t) function ask(user, call) bind(C)
    type(c_ptr), value :: user
    type(ompl_call_context), intent(in) :: call
    type(ompl_call_request) :: request
    integer :: code
    request%function = answer_number
    code = ompl_call(call%context, call%source, request, timeout_ns=OMPL_FOREVER)
    if (c_associated(user) .or. code /= OMPL_OK) code = ompl_call_fail("it could not call back" // c_null_char)
    ask = 1
  end function
  integer(c_int64_t) function answer(user, call) bind(C)
    type(c_ptr), value :: user
    type(ompl_call_context), intent(in) :: call
    answer = 0
    if (.not. c_associated(user) .and. call%length == 0) heard = heard + 1
  end function
  integer(c_int64_t) function bad(user, call) bind(C)
    type(c_ptr), value :: user
    type(ompl_call_context), intent(in) :: call
    bad = ompl_call_fail()
    if (c_associated(user) .or. call%length /= 0) bad = 0
  end function
end module functions

program fortran_calls_test
  use expectations
  use omnipgas_ext
  use functions
  implicit none
  integer :: partner, code, i
  integer(c_int32_t) :: total_number, ask_number, bad_number
  integer(c_int64_t), target :: own, numbers(3)
  integer(c_int64_t), asynchronous :: reply
  integer(c_int64_t) :: box
  integer(c_int64_t), parameter :: long_ns = 200000000000_c_int64_t
  type(ompl_call_request) :: request
  type(ompl_handle) :: handle

  call expect(ompl_init() == OMPL_OK, "ompl_init")
  partner = 1 - ompl_rank()
  if (ompl_size() /= 2) error stop "these tests need two ranks"
  call expect(c_sizeof(request) == 48, "types as in C")
  call expect(c_sizeof(ompl_call_context(c_null_ptr, 0, 0, c_null_ptr, 0, 0, 0)) == 48, "types as in C")
  own = 1000 * ompl_rank()
  call expect(ompl_alloc(8_c_size_t, box) == OMPL_OK, "alloc")
  call expect(ompl_call_fail() == OMPL_ERR_STATE, "call_fail outside of a function")
  code = ompl_call_register("total" // c_null_char, c_funloc(total), c_loc(own), total_number)
  call expect(code == OMPL_OK, "call_register")
  code = ompl_call_register("ask" // c_null_char, c_funloc(ask), c_null_ptr, ask_number)
  call expect(code == OMPL_OK, "call_register")
  code = ompl_call_register("answer" // c_null_char, c_funloc(answer), c_null_ptr, answer_number)
  call expect(code == OMPL_OK, "call_register")
  code = ompl_call_register("bad" // c_null_char, c_funloc(bad), c_null_ptr, bad_number)
  call expect(code == OMPL_OK .and. bad_number == answer_number + 1, "call_register")

  numbers = [1, 2, 3]
  request = ompl_call_request(total_number, arguments=c_loc(numbers), length=24_c_size_t)
  code = ompl_call(c_null_ptr, partner, request, reply, OMPL_FOREVER)
  call expect(code == OMPL_OK .and. reply == 6 + 1000 * partner, "a reply")
  request%src_addr = transfer(c_loc(numbers(3)), 0_c_int64_t)
  request%dest_addr = box
  request%payload_length = 8
  do
    code = ompl_call_nb(c_null_ptr, partner, request, reply, handle)
    if (code <= OMPL_PENDING) exit
    code = ompl_progress(c_null_ptr, 1000000_c_int64_t)
  end do
  call expect(code == OMPL_PENDING, "call_nb")
  call expect(ompl_handle_wait(c_null_ptr, handle, long_ns) == OMPL_OK, "handle_wait")
  call expect(reply == 9 + 1000 * partner, "the reply of a call with a payload")

  do i = 1, 100
    request = ompl_call_request(ask_number)
    call expect(ompl_call(c_null_ptr, partner, request, timeout_ns=OMPL_FOREVER) == OMPL_OK, "call")
  end do
  do while (heard < 100)
    code = ompl_progress(c_null_ptr, 10000000_c_int64_t)
  end do
  call expect(heard == 100, "each call was answered once")

  request = ompl_call_request(bad_number)
  call expect(ompl_call(c_null_ptr, partner, request, reply, OMPL_FOREVER) == OMPL_ERR_SYSTEM, "a function that fails")
  call expect(ompl_call(c_null_ptr, partner, request, timeout_ns=OMPL_FOREVER) == OMPL_OK, "the same without a reply")
  request%function = 77
  call expect(ompl_call(c_null_ptr, partner, request, reply, OMPL_FOREVER) == OMPL_ERR_ARG, "no such function")
  call expect(ompl_barrier() == OMPL_OK, "barrier")
  call expect(ompl_finalize() == OMPL_OK, "ompl_finalize")
  call report()
end program fortran_calls_test
