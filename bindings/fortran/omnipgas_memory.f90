! SPDX-License-Identifier: BSD-3-Clause
! Functions of <omnipgas/ompl_memory.h> for Fortran 2018, under their names and with their meaning: memory that one rank allocates
! or adopts alone, or all ranks adopt. See omnipgas.f90 for kinds.
module omnipgas_memory
  use, intrinsic :: iso_c_binding
  implicit none
  public

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

end module omnipgas_memory
