! SPDX-License-Identifier: BSD-3-Clause
! The functions of <omnipgas/halo.h> for Fortran 2018, under their names and with their meaning; see omnipgas.f90 for kinds.
! Elements, neighbours and vectors are numbered from 0, as in C: declare a vector as v(0:n - 1). A halo is a type(c_ptr).
! Vectors, and lists of elements, are given by c_loc() and need the target attribute.
module omnipgas_halo
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(C)
    enumerator :: OMPL_HALO_DOUBLE_BUFFER = 0, OMPL_HALO_SINGLE, OMPL_HALO_ACKED, OMPL_HALO_MPI, &
      OMPL_HALO_MPI_PERSISTENT, OMPL_HALO_MPI_NEIGHBOR, OMPL_HALO_MPI_PUT, OMPL_HALO_AUTO
  end enum

  type, bind(C) :: ompl_halo_neighbor
    type(c_ptr) :: send_indices = c_null_ptr, receive_positions = c_null_ptr ! integer(c_int32_t) arrays
    integer(c_size_t) :: send_count = 0, send_first = 0, receive_count = 0, receive_first = 0
    integer(c_int32_t) :: rank = 0
  end type

  type, bind(C) :: ompl_halo_config
    integer(c_size_t) :: size = 40, element = 8, vectors = 1, length = -1 ! -1: not checked
    integer(c_int32_t) :: strategy = OMPL_HALO_DOUBLE_BUFFER
  end type

  interface
    integer(c_int) function ompl_halo_create(config, neighbors, count, halo) bind(C)
      import
      type(ompl_halo_config), intent(in) :: config
      type(ompl_halo_neighbor), intent(in) :: neighbors(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(inout) :: halo
    end function
    integer(c_int) function ompl_halo_destroy(halo) bind(C)
      import
      type(c_ptr), value :: halo
    end function
    integer(c_int) function ompl_halo_start(ctx, halo, vectors, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx, halo
      type(c_ptr), intent(in) :: vectors(*)
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_halo_test(ctx, halo) bind(C)
      import
      type(c_ptr), value :: ctx, halo
    end function
    integer(c_int) function ompl_halo_wait(ctx, halo, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx, halo
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_halo_wait_some(ctx, halo, indices, found, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx, halo
      integer(c_size_t), intent(inout) :: indices(*), found
      integer(c_int64_t), value :: timeout_ns
    end function
    type(c_ptr) function ompl_halo_data(halo, neighbor, vector) bind(C)
      import
      type(c_ptr), value :: halo
      integer(c_size_t), value :: neighbor, vector
    end function
    integer(c_int) function ompl_halo_unpack(halo, neighbor, vectors) bind(C)
      import
      type(c_ptr), value :: halo
      integer(c_size_t), value :: neighbor
      type(c_ptr), intent(in) :: vectors(*)
    end function
  end interface

contains

  function ompl_halo_describe(halo) result(text)
    type(c_ptr), intent(in) :: halo
    character(kind=c_char, len=:), allocatable :: text
    integer(c_size_t) :: length
    interface
      integer(c_size_t) function c_describe(halo, text, size) bind(C, name="ompl_halo_describe")
        import
        type(c_ptr), value :: halo
        character(kind=c_char), intent(inout) :: text(*)
        integer(c_size_t), value :: size
      end function
    end interface
    text = c_null_char
    length = c_describe(halo, text, 1_c_size_t)
    text = repeat(c_null_char, int(length) + 1)
    length = c_describe(halo, text, length + 1)
    text = text(:length)
  end function

end module omnipgas_halo
