! SPDX-License-Identifier: BSD-3-Clause
! pingpong.c in Fortran: rank 0 puts a message and raises rank 1's flag; rank 1 waits, puts it back and raises
! rank 0's.
!
!   omplrun -n 2 ./pingpong_f90 [bytes [iterations]]
program pingpong
  use omnipgas
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  implicit none
  integer(c_size_t) :: bytes
  integer(c_int64_t) :: dest_addr, flag_addr
  integer(int64) :: begin, finish, ticks
  integer :: i, iterations, rank, partner, wrong
  integer(c_int8_t), allocatable :: message(:)
  integer(c_int8_t), pointer, volatile :: inbox(:)
  real(real64) :: one_way
  character(40) :: text

  bytes = int(argument(1, 8), c_size_t)
  iterations = argument(2, 10000)
  call require(ompl_init(), "ompl_init")
  rank = ompl_rank()
  if (ompl_size() /= 2) error stop "pingpong needs two ranks: omplrun -n 2 ./pingpong_f90"
  partner = 1 - rank
  call require(ompl_alloc(bytes, dest_addr), "ompl_alloc")
  call require(ompl_alloc(4_c_size_t, flag_addr), "ompl_alloc")
  call c_f_pointer(ompl_ptr(rank, dest_addr), inbox, [bytes])
  allocate (message(bytes), source=0_c_int8_t)

  wrong = 0
  call system_clock(begin, ticks)
  do i = 1, iterations
    message(bytes) = int(mod(i, 128), c_int8_t)
    if (rank == 0) then
      call require(ompl_put(message, partner, dest_addr, bytes), "ompl_put") ! the data
      call require(ompl_put_word(partner, flag_addr), "ompl_put_word")       ! the flag
      call require(ompl_wait(flag_addr), "ompl_wait")
      if (inbox(bytes) /= message(bytes)) wrong = wrong + 1
    else
      call require(ompl_wait(flag_addr), "ompl_wait")
      if (inbox(bytes) /= message(bytes)) wrong = wrong + 1
      call require(ompl_put(message, partner, dest_addr, bytes), "ompl_put")
      call require(ompl_put_word(partner, flag_addr), "ompl_put_word")
    end if
  end do
  call system_clock(finish)
  one_way = real(finish - begin, real64) / real(ticks, real64) * 1e6_real64 / iterations / 2

  write (text, "(f20.3, f20.1)") one_way, real(bytes, real64) / one_way
  if (rank == 0) print "(i0, 5a)", bytes, " bytes: ", trim(adjustl(text(:20))), " us one way, ", &
    trim(adjustl(text(21:))), " MB/s"
  if (wrong > 0) write (error_unit, "(a, i0, a, i0, a)") "rank ", rank, ": ", wrong, " messages arrived damaged"
  call require(ompl_finalize(), "ompl_finalize")
  if (wrong > 0) stop 1

contains

  ! Argument `number` of the command line, a positive number, or what it is without.
  integer function argument(number, default)
    integer, intent(in) :: number, default
    integer :: status
    argument = default
    call get_command_argument(number, text, status=status)
    if (status == 0) read (text, *) argument
    if (argument <= 0) error stop "usage: pingpong_f90 [bytes [iterations]], both positive"
  end function
  subroutine require(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    if (code < 0) call fail(code, what)
  end subroutine

  subroutine fail(code, what)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: what
    error stop what // ": " // ompl_strerror(code) // " (" // ompl_error_detail() // ")"
  end subroutine
end program pingpong
