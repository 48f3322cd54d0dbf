! SPDX-License-Identifier: BSD-3-Clause
! What Caffeine's procedures call besides its own C functions: the error of a statement for its STAT= and ERRMSG=, failed and
! stopped images, locks, SYNC IMAGES (status.cpp, images.cpp, words.cpp).
module ompl_prif
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_intptr_t, c_ptr, c_ptrdiff_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: stat_failed_image, stat_locked, stat_locked_other_image, stat_stopped_image, &
    stat_unlocked, stat_unlocked_failed_image
  implicit none
  private
  public :: settle, images_of, status_of, failed, stopped, take_over
  public :: ompl_prif_settles, ompl_prif_tell, ompl_prif_agree, ompl_prif_sync_images, ompl_prif_lock, ompl_prif_unlock

  integer(c_int), parameter :: failed = 0, stopped = 1  ! what images_of() lists
  integer, parameter :: longest = 512

  interface
    subroutine ompl_prif_settles() bind(C)
      !! From now on every procedure ends with settle(), so that an error need not end the image where it is found.
    end subroutine

    integer(c_int) function ompl_prif_take(room, text, length) bind(C)
      !! The first error since the last call, by the core's number, and its text; 0 if there was none.
      import c_char, c_int, c_size_t
      integer(c_size_t), value :: room
      character(kind=c_char), intent(out) :: text(*)
      integer(c_size_t), intent(out) :: length
    end function

    subroutine ompl_prif_end(text, length) bind(C)
      !! Ends all images with that text.
      import c_char, c_size_t
      character(kind=c_char), intent(in) :: text(*)
      integer(c_size_t), value :: length
    end subroutine

    integer(c_int) function ompl_prif_images(which, team, room, images) bind(C)
      !! How many images of the team have failed or stopped; the first of them.
      import c_int, c_ptr
      integer(c_int), value :: which, room
      type(c_ptr), value :: team
      integer(c_int), intent(out) :: images(*)
    end function

    integer(c_int) function ompl_prif_status(image, team) bind(C)
      import c_int, c_ptr
      integer(c_int), value :: image
      type(c_ptr), value :: team
    end function

    subroutine ompl_prif_tell(data, bytes, team) bind(C)
      !! Image 1 of the team tells the others.
      import c_ptr, c_size_t
      type(c_ptr), value :: data, team
      integer(c_size_t), value :: bytes
    end subroutine

    subroutine ompl_prif_agree(offset, team) bind(C)
      !! The same of one number.
      import c_ptr, c_ptrdiff_t
      integer(c_ptrdiff_t), intent(inout) :: offset
      type(c_ptr), value :: team
    end subroutine

    subroutine ompl_prif_sync_images(team, count, images) bind(C)
      !! A negative count: all images of the team.
      import c_int, c_int64_t, c_ptr
      type(c_ptr), value :: team
      integer(c_int64_t), value :: count
      integer(c_int), intent(in) :: images(*)
    end subroutine

    subroutine ompl_prif_lock(image, address, tries, acquired) bind(C)
      !! tries /= 0: does not wait for another image.
      import c_int, c_intptr_t
      integer(c_int), value :: image, tries
      integer(c_intptr_t), value :: address
      integer(c_int), intent(out) :: acquired
    end subroutine

    subroutine ompl_prif_unlock(image, address) bind(C)
      import c_int, c_intptr_t
      integer(c_int), value :: image
      integer(c_intptr_t), value :: address
    end subroutine
  end interface

contains

  subroutine settle(stat, errmsg, errmsg_alloc)
    !! Ends a statement: the first error of its parts goes to stat, or ends all images without it.
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, intent(inout), optional :: errmsg_alloc
    call pass_on(stat_unlocked_failed_image, stat, errmsg, errmsg_alloc)
  end subroutine

  subroutine take_over(stat, errmsg, errmsg_alloc)
    !! settle() of a critical construct, whose code for an image that failed in it is another one than that of LOCK.
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, intent(inout), optional :: errmsg_alloc
    call pass_on(stat_failed_image, stat, errmsg, errmsg_alloc)
  end subroutine

  subroutine pass_on(code_of_left_lock, stat, errmsg, errmsg_alloc)
    !! A lock that a failed image left is acquired: that is an error for STAT= alone.
    integer(c_int), intent(in) :: code_of_left_lock
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, intent(inout), optional :: errmsg_alloc
    character(kind=c_char) :: text(longest)
    character(len=longest) :: said
    integer(c_size_t) :: length, i
    integer(c_int) :: code
    logical :: left

    code = stat_of(ompl_prif_take(int(longest, c_size_t), text, length))
    left = code == stat_unlocked_failed_image
    if (present(stat)) stat = merge(code_of_left_lock, code, left)
    if (code == 0) return
    if (.not. (present(stat) .or. left)) call ompl_prif_end(text, length)
    said = ''
    do i = 1, length
      said(i:i) = text(i)
    end do
    if (present(errmsg)) errmsg = said(1:length)
    if (present(errmsg_alloc)) errmsg_alloc = said(1:length)
  end subroutine

  pure integer(c_int) function stat_of(code)
    !! The compiler's constants of ISO_FORTRAN_ENV for the numbers of core.hpp; others stay.
    integer(c_int), intent(in) :: code
    select case (code)
    case (1); stat_of = stat_locked
    case (2); stat_of = stat_locked_other_image
    case (6000); stat_of = stat_stopped_image
    case (6001); stat_of = stat_failed_image
    case (6002); stat_of = stat_unlocked_failed_image
    case (6003); stat_of = stat_unlocked
    case default; stat_of = code
    end select
  end function

  function images_of(which, team) result(images)
    !! The images of a team that have failed, or those that have stopped.
    integer(c_int), intent(in) :: which
    type(c_ptr), intent(in) :: team
    integer(c_int), allocatable :: images(:)
    integer(c_int) :: count, none(1)
    count = ompl_prif_images(which, team, 0_c_int, none)
    allocate (images(count))
    if (count > 0) count = ompl_prif_images(which, team, count, images)
  end function

  integer(c_int) function status_of(image, team)
    !! 0, or the code of a failed or a stopped image.
    integer(c_int), intent(in) :: image
    type(c_ptr), intent(in) :: team
    status_of = stat_of(ompl_prif_status(image, team))
  end function
end module
