! SPDX-License-Identifier: BSD-3-Clause
! What statements on coarrays take, on two images, for any library that gfortran's -fcoarray=lib calls (omni figures).
! Prints a line of JSON for each kind of statement and size: {"what": ..., "bytes": ..., "ns": of one statement}. The
! argument chooses: transfers, whose data are looked at, collectives, events, or allocate: 10,000 allocations.
program calls
  use, intrinsic :: iso_fortran_env, only: event_type, int64, output_unit, real64
  implicit none
  integer, parameter :: sizes(5) = [8, 512, 4096, 65536, 4194304]  ! bytes
  integer, parameter :: most_strided = 65536  ! OpenCoarrays sends each element alone: 4 MiB took up to 40 s
  integer, parameter :: element = 8, most = sizes(size(sizes)) / element
  integer, parameter :: block = 256, tile = 64     ! elements: of the halo exchange and of the transposition
  real(real64), parameter :: least = 0.004_real64  ! seconds of a try,
  real(real64), parameter :: long = 0.1_real64     ! and of one that is not repeated
  integer, parameter :: tries = 4
  integer, parameter :: many = 10000
  real(real64), allocatable :: data(:)[:], plate(:, :, :)[:], matrix(:, :)[:], turned(:, :), own(:), piece(:, :)
  type(event_type) :: event[*]
  integer :: me, other, i
  character(16) :: what

  if (num_images() /= 2) error stop 'calls: needs two images'
  me = this_image()
  other = 3 - me
  allocate (data(2 * most)[*], plate(0:block + 1, 0:block + 1, 2)[*], matrix(2 * block, block)[*], own(most))
  allocate (turned(2 * block, block), piece(tile, tile))
  data = 0
  plate = 1
  matrix = 1
  own = 0
  what = ''
  if (command_argument_count() > 0) call get_command_argument(1, what)
  select case (what)
  case ('transfers')
    do i = 1, size(sizes)
      call measure('put', sizes(i))
      call measure('get', sizes(i))
      if (i > 1 .and. sizes(i) <= most_strided) call measure('strided put', sizes(i))
      if (i > 1 .and. sizes(i) <= most_strided) call measure('strided get', sizes(i))
    end do
    call measure('halo', block * element)
    call measure('transpose', 2 * block * block * element)
  case ('collectives')
    call measure('sync all', 0)
    do i = 1, size(sizes)
      call measure('co_sum', sizes(i))
    end do
  case ('events')
    call measure('event', 0)
    do i = 1, size(sizes)
      call measure('put and event', sizes(i))
    end do
  case ('allocate')
    call allocations
  case default
    error stop 'calls: transfers, collectives, events or allocate'
  end select
  sync all
contains
  ! As many times as take long enough, then a few more tries of as many; the shortest counts, which other programs
  ! have disturbed least. Both images do the same.
  subroutine measure(kind, bytes)
    character(*), intent(in) :: kind
    integer, intent(in) :: bytes
    integer :: times, try
    real(real64) :: seconds, shortest
    times = 1
    do
      call time_them(kind, bytes / element, times, seconds)
      if (is_less(seconds, least)) then
        times = 2 * times
      else
        exit
      end if
    end do
    shortest = seconds
    do try = 2, tries
      if (.not. is_less(shortest, long)) exit
      call time_them(kind, bytes / element, times, seconds)
      shortest = min(shortest, seconds)
    end do
    if (index(kind, 'put') + index(kind, 'get') > 0 .and. kind /= 'put and event') call look(kind, bytes / element)
    if (me == 1) call tell(kind, bytes, shortest / times)
  end subroutine

  ! Once more with other data, which must have arrived after the synchronisation.
  subroutine look(kind, n)
    character(*), intent(in) :: kind
    integer, intent(in) :: n
    integer :: last
    logical :: wrong
    own = me
    data = me
    last = merge(2 * n - 1, n, index(kind, 'strided') > 0)
    sync all
    if (me == 1) call one_sided(kind, n, 1)
    sync all
    if (index(kind, 'put') > 0) then
      wrong = me == 2 .and. (nint(data(1)) /= 1 .or. nint(data(last)) /= 1)
    else
      wrong = me == 1 .and. (nint(own(1)) /= 2 .or. nint(own(n)) /= 2)
    end if
    if (wrong) then
      print '(2a,i0,a)', kind, ' of ', n * element, ' bytes: the data have not arrived'
      error stop 1
    end if
  end subroutine

  logical function is_less(seconds, limit)  ! what image 1 finds, on both
    real(real64), intent(in) :: seconds, limit
    integer :: less
    less = merge(1, 0, seconds < limit)
    call co_broadcast(less, source_image=1)
    is_less = less == 1
  end function

  subroutine time_them(kind, elements, times, seconds)
    character(*), intent(in) :: kind
    integer, intent(in) :: elements, times
    real(real64), intent(out) :: seconds
    integer(int64) :: begin, end, rate
    sync all
    call system_clock(begin, rate)
    call repeat_it(kind, elements, times)
    call system_clock(end)
    seconds = real(end - begin, real64) / real(rate, real64)
  end subroutine

  ! One-sided statements are those of image 1.
  subroutine repeat_it(kind, elements, times)
    character(*), intent(in) :: kind
    integer, intent(in) :: elements, times
    integer :: k
    select case (kind)
    case ('put', 'get', 'strided put', 'strided get')
      if (me == 1) call one_sided(kind, elements, times)
    case ('event', 'put and event')
      call there_and_back(elements, times)
    case ('sync all')
      do k = 1, times
        sync all
      end do
    case ('co_sum')
      do k = 1, times
        call co_sum(own(1:elements))
      end do
    case ('halo')
      do k = 1, times
        call halo(mod(k, 2) + 1)
      end do
    case ('transpose')
      do k = 1, times
        call transposition
      end do
    end select
  end subroutine

  subroutine one_sided(kind, n, times)
    character(*), intent(in) :: kind
    integer, intent(in) :: n, times
    integer :: k
    select case (kind)
    case ('put')
      if (n == 1) then
        do k = 1, times
          data(1)[2] = own(1)
        end do
      else
        do k = 1, times
          data(1:n)[2] = own(1:n)
        end do
      end if
    case ('get')
      if (n == 1) then
        do k = 1, times
          own(1) = data(1)[2]
        end do
      else
        do k = 1, times
          own(1:n) = data(1:n)[2]
        end do
      end if
    case ('strided put')
      do k = 1, times
        data(1:2 * n:2)[2] = own(1:n)
      end do
    case ('strided get')
      do k = 1, times
        own(1:n) = data(1:2 * n:2)[2]
      end do
    end select
    sync memory
  end subroutine

  ! A round trip is two of them.
  subroutine there_and_back(n, times)
    integer, intent(in) :: n, times
    integer :: k
    do k = 1, times
      if (mod(k, 2) == me - 1) then
        event wait (event)
      else
        if (n > 0) data(1:n)[other] = own(1:n)
        event post (event[other])
      end if
    end do
  end subroutine

  ! Blocks of the two images alternate like squares of a chessboard: each of the four neighbours is the other image.
  subroutine halo(now)
    integer, intent(in) :: now
    plate(block + 1, 1:block, now)[other] = plate(1, 1:block, now)
    plate(0, 1:block, now)[other] = plate(block, 1:block, now)
    plate(1:block, block + 1, now)[other] = plate(1:block, 1, now)
    plate(1:block, 0, now)[other] = plate(1:block, block, now)
    sync images (other)
  end subroutine

  ! A matrix of 2 * block columns, half of them on each image.
  subroutine transposition
    integer :: step, from, a, b
    do step = 0, 1
      from = mod(me - 1 + step, 2) + 1
      do a = 1, block, tile
        do b = 1, block, tile
          piece(:, :) = matrix((me - 1) * block + a:(me - 1) * block + a + tile - 1, b:b + tile - 1)[from]
          turned((from - 1) * block + b:(from - 1) * block + b + tile - 1, a:a + tile - 1) = transpose(piece)
        end do
      end do
    end do
    sync all
  end subroutine

  subroutine allocations
    integer(int64) :: begin, end, rate
    real(real64), allocatable :: one(:)[:]
    integer :: k
    sync all
    call system_clock(begin, rate)
    do k = 1, many
      allocate (one(100)[*])
      deallocate (one)
    end do
    call system_clock(end)
    if (me == 1) call tell('allocate', 100 * element, real(end - begin, real64) / real(rate, real64) / many)
  end subroutine

  subroutine tell(kind, bytes, seconds)
    character(*), intent(in) :: kind
    integer, intent(in) :: bytes
    real(real64), intent(in) :: seconds
    print '(3a,i0,a,es12.5,a)', '{"what": "', kind, '", "bytes": ', bytes, ', "ns":', 1e9_real64 * seconds, '}'
    flush (output_unit)
  end subroutine
end program
