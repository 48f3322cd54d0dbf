! SPDX-License-Identifier: BSD-3-Clause
! Module omnipgas_halo on two ranks: lists of elements, several vectors, waiting for some, time limits, what is refused.
program fortran_halo_test
  use expectations
  use omnipgas
  use omnipgas_halo
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: length = 8
  integer(c_int64_t), parameter :: long_ns = 200000000000_c_int64_t
  integer(c_int32_t), target :: sent(3) = [7, 0, 3], places(3) = [1, 2, 4]
  integer :: rank, partner, code, strategy

  call expect(ompl_init() == OMPL_OK, "ompl_init")
  rank = ompl_rank()
  partner = 1 - rank
  if (ompl_size() /= 2) error stop "these tests need two ranks"
  call expect(c_sizeof(ompl_halo_neighbor()) == 56 .and. c_sizeof(ompl_halo_config()) == 40, "types as in C")
  do strategy = OMPL_HALO_DOUBLE_BUFFER, OMPL_HALO_ACKED
    call lists(strategy)
  end do
  call several()
  call limits()
  call refused()
  call expect(ompl_finalize() == OMPL_OK, "ompl_finalize")
  call report()

contains

  ! A halo with the other rank, of the elements `sent` to the `places`.
  function made(config) result(halo)
    type(ompl_halo_config), intent(in) :: config
    type(c_ptr) :: halo
    type(ompl_halo_neighbor) :: neighbors(1)
    neighbors(1) = ompl_halo_neighbor(c_loc(sent), c_loc(places), send_count=3, receive_count=3, rank=partner)
    halo = c_null_ptr
    call expect(ompl_halo_create(config, neighbors, 1_c_size_t, halo) == OMPL_OK, "create")
  end function

  ! Element i of a rank's vector in a step.
  elemental real(c_double) function element(of, step, i)
    integer, intent(in) :: of, step, i
    element = 100 * of + 10 * step + i
  end function

  subroutine lists(strategy)
    integer, intent(in) :: strategy
    real(c_double), target :: vector(0:length - 1)
    real(c_double), pointer :: came(:)
    type(c_ptr) :: halo
    integer :: step, i
    halo = made(ompl_halo_config(length=length, strategy=strategy))
    do step = 1, 10
      vector = element(rank, step, [(i, i=0, length - 1)])
      call expect(ompl_halo_start(c_null_ptr, halo, [c_loc(vector)], OMPL_FOREVER) == OMPL_OK, "start")
      call expect(ompl_halo_wait(c_null_ptr, halo, OMPL_FOREVER) == OMPL_OK, "wait")
      call expect(ompl_halo_test(c_null_ptr, halo) == 1, "test")
      call c_f_pointer(ompl_halo_data(halo, 0_c_size_t, 0_c_size_t), came, [3])
      call expect(all(came == element(partner, step, sent)), "what came")
      call expect(ompl_halo_unpack(halo, 0_c_size_t, [c_loc(vector)]) == OMPL_OK, "unpack")
      call expect(all(vector(places) == came) .and. vector(5) == element(rank, step, 5), "where it is")
    end do
    call expect(ompl_halo_destroy(halo) == OMPL_OK, "destroy")
  end subroutine

  subroutine several()
    real(c_double), target :: one(0:length - 1), two(0:length - 1)
    type(c_ptr) :: halo
    integer(c_size_t) :: indices(1), found
    integer :: i
    halo = made(ompl_halo_config(vectors=2))
    one = element(rank, 1, [(i, i=0, length - 1)])
    two = element(rank, 2, [(i, i=0, length - 1)])
    call expect(ompl_halo_start(c_null_ptr, halo, [c_loc(one), c_loc(two)], long_ns) == OMPL_OK, "start")
    code = ompl_halo_wait_some(c_null_ptr, halo, indices, found, long_ns)
    call expect(code == OMPL_OK .and. found == 1 .and. indices(1) == 0, "wait_some")
    code = ompl_halo_wait_some(c_null_ptr, halo, indices, found, long_ns)
    call expect(code == OMPL_OK .and. found == 0, "all were named")
    call expect(ompl_halo_unpack(halo, 0_c_size_t, [c_loc(one), c_loc(two)]) == OMPL_OK, "unpack")
    call expect(one(1) == element(partner, 1, 7) .and. two(1) == element(partner, 2, 7), "both vectors")
    call expect(.not. c_associated(ompl_halo_data(halo, 1_c_size_t, 0_c_size_t)), "no such neighbour")
    call expect(ompl_halo_describe(halo) == "* double-buffer " // c_new_line, "describe")
    call expect(ompl_halo_destroy(halo) == OMPL_OK, "destroy")
  end subroutine

  subroutine limits()
    real(c_double), target :: vector(0:length - 1)
    type(c_ptr) :: halo
    vector = 0
    halo = made(ompl_halo_config())
    if (rank == 0) then
      call expect(ompl_halo_start(c_null_ptr, halo, [c_loc(vector)], long_ns) == OMPL_OK, "start")
      call expect(ompl_halo_wait(c_null_ptr, halo, 1000000_c_int64_t) == OMPL_ERR_TIMEOUT, "wait with a limit")
    end if
    call expect(ompl_barrier() == OMPL_OK, "ompl_barrier")
    if (rank == 1) call expect(ompl_halo_start(c_null_ptr, halo, [c_loc(vector)], long_ns) == OMPL_OK, "start")
    call expect(ompl_halo_wait(c_null_ptr, halo, long_ns) == OMPL_OK, "wait")
    call expect(ompl_halo_destroy(halo) == OMPL_OK, "destroy")
  end subroutine

  subroutine refused()
    type(ompl_halo_neighbor) :: neighbors(1)
    type(c_ptr) :: halo
    neighbors(1) = ompl_halo_neighbor(send_count=3, receive_count=2, rank=partner)
    code = ompl_halo_create(ompl_halo_config(), neighbors, 1_c_size_t, halo)
    call expect(code == OMPL_ERR_ARG, "unlike counts")
    call expect(index(ompl_error_detail(), "expects 2 elements") > 0, "it says so")
    call expect(ompl_halo_wait(c_null_ptr, c_null_ptr, long_ns) == OMPL_ERR_ARG, "no halo")
  end subroutine

end program fortran_halo_test
