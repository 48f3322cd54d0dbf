! SPDX-License-Identifier: BSD-3-Clause
! What the Fortran tests count: what held, and what did not.
module expectations
  use omnipgas, only: ompl_error_detail
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: expect, report
  integer :: failures = 0, checks = 0

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    checks = checks + 1
    if (holds) return
    failures = failures + 1
    write (error_unit, "(4a)") "FAILED: ", what, "; ", ompl_error_detail()
  end subroutine

  ! The end of a test.
  subroutine report()
    if (failures > 0 .or. checks == 0) error stop "FAILED"
    print "(a, i0, a)", "ok: ", checks, " checks"
  end subroutine

end module expectations
