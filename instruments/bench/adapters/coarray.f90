! SPDX-License-Identifier: BSD-3-Clause
! The Fortran part of the adapter of coarrays: coarray.cpp calls these procedures. The target of a channel is a column
! of a coarray of bytes, from its first page on: that is another element on each image.
module coarray_adapter
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_intptr_t, c_loc, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: event_type
  implicit none
  integer, parameter :: page = 4096
  integer(c_int8_t), allocatable, target :: memory(:, :)[:]
  integer(c_int8_t), allocatable, target :: sources(:, :)
  type(event_type), allocatable :: arrived(:)[:]
  integer, allocatable :: first(:)[:], there(:)  ! where a channel's target begins, here and on the other image
  integer :: other
contains
  integer function skipped(place)  ! elements up to the next page
    type(c_ptr), intent(in) :: place
    integer(c_intptr_t) :: address
    address = transfer(place, address)
    skipped = int(modulo(-address, int(page, c_intptr_t)))
  end function

  function image() bind(c, name='bench_coarray_image')
    integer(c_int) :: image
    image = this_image()
  end function

  function images() bind(c, name='bench_coarray_images')
    integer(c_int) :: images
    images = num_images()
  end function

  subroutine open_channels(channels, bytes) bind(c, name='bench_coarray_open')
    integer(c_size_t), value :: channels, bytes
    integer :: i
    other = 3 - this_image()
    allocate (memory(bytes + page, channels)[*], arrived(channels)[*], first(channels)[*])
    allocate (sources(bytes + page, channels), there(channels))
    memory = 0
    sources = 0
    do i = 1, int(channels)
      first(i) = 1 + skipped(c_loc(memory(1, i)))
    end do
    sync all
    there = first(:)[other]
    sync all
  end subroutine

  subroutine close_channels() bind(c, name='bench_coarray_close')
    deallocate (memory, arrived, first)
  end subroutine

  function target_of(channel) bind(c, name='bench_coarray_target')
    integer(c_int), value :: channel
    type(c_ptr) :: target_of
    target_of = c_loc(memory(first(channel), channel))
  end function

  function source_of(channel) bind(c, name='bench_coarray_source')
    integer(c_int), value :: channel
    type(c_ptr) :: source_of
    source_of = c_loc(sources(1 + skipped(c_loc(sources(1, channel))), channel))
  end function

  subroutine put_bytes(channel, offset, bytes) bind(c, name='bench_coarray_put')
    integer(c_int), value :: channel
    integer(c_size_t), value :: offset, bytes
    integer(c_size_t) :: from, to
    from = 1 + skipped(c_loc(sources(1, channel))) + offset
    to = there(channel) + offset
    memory(to:to + bytes - 1, channel)[other] = sources(from:from + bytes - 1, channel)
  end subroutine

  subroutine post_event(channel) bind(c, name='bench_coarray_signal')
    integer(c_int), value :: channel
    event post (arrived(channel)[other])
  end subroutine

  subroutine wait_for_event(channel) bind(c, name='bench_coarray_wait')
    integer(c_int), value :: channel
    event wait (arrived(channel))
  end subroutine

  subroutine complete_puts() bind(c, name='bench_coarray_complete')
    sync memory
  end subroutine
end module
