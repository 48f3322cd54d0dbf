! SPDX-License-Identifier: BSD-3-Clause
! Functions of <omnipgas/ompl_memory.h> for Fortran 2018, under their names and with their meaning: memory that one rank allocates
! or adopts alone, or all ranks adopt; waits for words that plain puts change. See omnipgas.f90 for kinds.
module omnipgas_memory
  use, intrinsic :: iso_c_binding
  use omnipgas_ext, only: ompl_condition
  implicit none
  private :: ompl_condition
  public

  ! Added to a comparison of a wait for memory; Fortran's integers have a sign.
  integer(c_int32_t), parameter :: OMPL_SIGNED = 16

  interface
    integer(c_int) function ompl_alloc_local(size, offset) bind(C)
      import
      integer(c_size_t), value :: size
      integer(c_int64_t), intent(inout) :: offset
    end function
    integer(c_int) function ompl_free_local(offset) bind(C)
      import
      integer(c_int64_t), value :: offset
    end function
    integer(c_int) function ompl_accept_local() bind(C)
      import
    end function
    integer(c_int) function ompl_adopt(address, length, offset) bind(C)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
      integer(c_int64_t), intent(inout) :: offset
    end function
    integer(c_int) function ompl_unadopt(offset) bind(C)
      import
      integer(c_int64_t), value :: offset
    end function
    integer(c_int) function ompl_adopt_local(address, length, offset) bind(C)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
      integer(c_int64_t), intent(inout) :: offset
    end function
    integer(c_int) function ompl_unadopt_local(offset) bind(C)
      import
      integer(c_int64_t), value :: offset
    end function
  end interface

  ! Waits for memory: words of 8, 16, 32 or 64 bits, by the condition's width. Numbers of conditions begin with 0.
  interface
    integer(c_int) function ompl_wait_memory(ctx, condition, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: condition
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_wait_memory_any(ctx, conditions, count, which, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: which
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_wait_memory_some(ctx, conditions, count, indices, found, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(inout) :: indices(*), found
      integer(c_int64_t), value :: timeout_ns
    end function
    integer(c_int) function ompl_wait_memory_all(ctx, conditions, count, timeout_ns) bind(C)
      import
      type(c_ptr), value :: ctx
      type(ompl_condition), intent(in) :: conditions(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: timeout_ns
    end function
  end interface

end module omnipgas_memory
