! SPDX-License-Identifier: BSD-3-Clause
! LOCK and UNLOCK for Caffeine, whose own file of this name ends the program. A lock is the word of 32 bits that
! prif_lock_type has: 0, or 1 + the rank of the image that has locked it.
submodule(prif:prif_private_s) locks_s
  implicit none
contains

  module procedure prif_lock
    integer(c_intptr_t) :: base
    call base_pointer(coarray_handle, image_num, base)
    call prif_lock_indirect(image_num, base + int(offset, c_intptr_t), acquired_lock, stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_lock_indirect
    integer(c_int) :: acquired
    call ompl_prif_lock(image_num, lock_var_ptr, merge(1_c_int, 0_c_int, present(acquired_lock)), acquired)
    if (present(acquired_lock)) acquired_lock = acquired /= 0
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_unlock
    integer(c_intptr_t) :: base
    call base_pointer(coarray_handle, image_num, base)
    call prif_unlock_indirect(image_num, base + int(offset, c_intptr_t), stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_unlock_indirect
    call ompl_prif_unlock(image_num, lock_var_ptr)
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

end submodule
