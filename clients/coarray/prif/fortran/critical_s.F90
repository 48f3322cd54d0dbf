! SPDX-License-Identifier: BSD-3-Clause
! CRITICAL constructs for Caffeine, whose own file of this name ends the program: one lock for all images, at image 1.
submodule(prif:prif_private_s) critical_s
  implicit none
contains

  module procedure prif_critical
    integer(c_intptr_t) :: guard
    integer(c_int) :: acquired
    call base_pointer(critical_coarray, 1_c_int, guard)
    call ompl_prif_lock(1_c_int, guard, 0_c_int, acquired)
    call take_over(stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_end_critical
    integer(c_intptr_t) :: guard
    call base_pointer(critical_coarray, 1_c_int, guard)
    call ompl_prif_unlock(1_c_int, guard)
    call settle()
  end procedure

end submodule
