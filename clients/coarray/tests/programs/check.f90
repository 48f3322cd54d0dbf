! SPDX-License-Identifier: BSD-3-Clause
! What the programs here check with.
module check
  use iso_fortran_env, only: error_unit
  implicit none
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a,i0,2a)') 'image ', this_image(), ': ', what
    error stop 99
  end subroutine
end module
