! SPDX-License-Identifier: BSD-3-Clause
! What the programs here share: the start, coarrays of bytes, checks.
module support
  use, intrinsic :: iso_c_binding, only: c_bool, c_f_pointer, c_int, c_int64_t, c_intptr_t, c_loc, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use prif
  implicit none
  integer(c_int) :: me, images
contains
  subroutine begin()
    integer(c_int) :: status
    call prif_init(status)
    call expect(status == 0 .or. status == PRIF_STAT_ALREADY_INIT, 'prif_init', status)
    call prif_this_image_no_coarray(this_image=me)
    call prif_num_images(num_images=images)
  end subroutine

  subroutine expect(holds, what, status)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    integer(c_int), intent(in), optional :: status
    if (holds) return
    write (error_unit, '(a,i0,2a)') 'image ', me, ': ', what
    if (present(status)) write (error_unit, '(a,i0)') '  its status: ', status
    call prif_error_stop(.false._c_bool, stop_code_int=99_c_int)
  end subroutine

  subroutine make(bytes, handle, memory, stat)
    integer(c_size_t), intent(in) :: bytes
    type(prif_coarray_handle), intent(out) :: handle
    type(c_ptr), intent(out) :: memory
    integer(c_int), intent(out), optional :: stat
    procedure(prif_coarray_cleanup_interface), pointer :: nothing
    integer(c_int) :: now
    nothing => null()
    call prif_num_images(num_images=now)
    call prif_allocate_coarray([1_c_int64_t], [int(now, c_int64_t)], bytes, nothing, handle, memory, stat)
  end subroutine
end module
