! SPDX-License-Identifier: BSD-3-Clause
! Collective subroutines, for every type and kind that gfortran passes.
program collectives
  use check
  implicit none
  type pair
    integer :: a(8)
    real(8) :: b
  end type
  integer(1) :: i1
  integer(2) :: i2(3)
  integer(4) :: i4, table(4, 3), status
  integer(8) :: i8
  integer(16) :: i16
  real(4) :: r4(100)
  real(8) :: r8
  real(16) :: r16
  complex(4) :: c4
  complex(8) :: c8(2)
  complex(16) :: c16
  character(4) :: text, texts(2)
  character(2, kind=4) :: wide
  logical :: truth
  type(pair) :: both
  character(50) :: message
  integer :: me, n, i, sum, j, size
  integer, parameter :: lengths(9) = [2, 30, 31, 64, 1023, 1024, 1025, 8192, 40000]  ! around the ways data go
  integer :: long(40000)

  me = this_image()
  n = num_images()
  sum = n * (n + 1) / 2

  i1 = int(me, 1); call co_sum(i1); call expect(i1 == sum, 'co_sum of integer(1)')
  i2 = int(me, 2) * [1_2, 2_2, 3_2]; call co_sum(i2); call expect(all(i2 == sum * [1, 2, 3]), 'integer(2)')
  i4 = me; call co_sum(i4); call expect(i4 == sum, 'integer(4)')
  i8 = me * 2_8**40; call co_sum(i8); call expect(i8 == sum * 2_8**40, 'integer(8)')
  i16 = me * 2_16**70; call co_sum(i16); call expect(i16 == sum * 2_16**70, 'integer(16)')
  r4 = me; call co_sum(r4); call expect(all(r4 == sum), 'real(4)')
  r8 = me / 2d0; call co_sum(r8, stat=status, errmsg=message); call expect(r8 == sum / 2d0 .and. status == 0, 'real(8)')
  r16 = me / 3._16; call co_sum(r16); call expect(abs(r16 - sum / 3._16) < 1e-30_16, 'real(16)')
  c4 = cmplx(me, -me); call co_sum(c4); call expect(c4 == cmplx(sum, -sum), 'complex(4)')
  c8 = cmplx(me, 2 * me, 8); call co_sum(c8); call expect(all(c8 == cmplx(sum, 2 * sum, 8)), 'complex(8)')
  c16 = cmplx(me, 1, 16); call co_sum(c16); call expect(c16 == cmplx(sum, n, 16), 'complex(16)')
  table = me
  call co_sum(table(1:4:3, :))
  call expect(all(table(1:4:3, :) == sum) .and. all(table(2:3, :) == me), 'a section')

  do i = 1, 9
    size = lengths(i)
    do j = 1, 3  ! one after the other, without anything else between them
      long(1:size) = [(j * me + sum, sum = 1, size)]
      call co_sum(long(1:size))
      call expect(all(long(1:size) == [(j * n * (n + 1) / 2 + n * sum, sum = 1, size)]), 'co_sum of many')
      long(1:size) = [(j * me + sum, sum = 1, size)]
      call co_broadcast(long(1:size), mod(i, n) + 1)
      call expect(all(long(1:size) == [(j * (mod(i, n) + 1) + sum, sum = 1, size)]), 'co_broadcast of many')
    end do
  end do
  sum = n * (n + 1) / 2

  i4 = -me; call co_min(i4); call expect(i4 == -n, 'co_min')
  i16 = -me * 2_16**80; call co_max(i16); call expect(i16 == -2_16**80, 'co_max of integer(16)')
  r8 = me; call co_max(r8); call expect(r8 == n, 'co_max')
  r16 = me; call co_min(r16); call expect(r16 == 1, 'co_min of real(16)')
  text = char(96 + me) // 'bcd'; call co_max(text); call expect(text == char(96 + n) // 'bcd', 'co_max of strings')
  texts = [char(96 + me) // 'x', 'z' // char(122 - me)]
  call co_min(texts)
  call expect(texts(1) == 'ax' .and. texts(2) == 'z' // char(122 - n), 'co_min of strings')
  wide = 4_'a' // char(1000 + me, kind=4); call co_max(wide)
  call expect(wide == 4_'a' // char(1000 + n, kind=4), 'characters of four bytes')

  i4 = me; call co_sum(i4, result_image=n)
  if (me == n) call expect(i4 == sum, 'result_image')
  r8 = me; call co_max(r8, result_image=1)
  if (me == 1) call expect(r8 == n, 'result_image 1')

  i4 = me; call co_reduce(i4, product_of); call expect(i4 == product([(i, i = 1, n)]), 'co_reduce')
  r8 = me; call co_reduce(r8, greater, result_image=1); if (me == 1) call expect(r8 == n, 'co_reduce to one')
  truth = me /= 1; call co_reduce(truth, both_true); call expect(.not. truth, 'co_reduce of logicals')
  c8 = cmplx(me, 1, 8); call co_reduce(c8, add_complex); call expect(all(c8 == cmplx(sum, n, 8)), 'of complex')
  texts = [char(96 + me) // 'x', 'z' // char(122 - me)]
  call co_reduce(texts, later)
  call expect(texts(1) == char(96 + n) // 'x' .and. texts(2) == 'zy', 'of strings')
  both = pair(me, me / 2d0)
  call co_reduce(both, add_pairs)
  call expect(all(both%a == sum) .and. both%b == sum / 2d0, 'of a derived type')

  i4 = 100 * me; call co_broadcast(i4, n); call expect(i4 == 100 * n, 'co_broadcast')
  r4 = me; call co_broadcast(r4, 1); call expect(all(r4 == 1), 'an array')
  text = repeat(char(96 + me), 4); call co_broadcast(text, n); call expect(text == repeat(char(96 + n), 4), 'a string')
  both = pair(me, me); call co_broadcast(both, n); call expect(all(both%a == n) .and. both%b == n, 'a derived type')
  table = me; call co_broadcast(table(2, :), n)
  call expect(all(table(2, :) == n) .and. all(table(1, :) == me), 'a section')
contains
  pure integer function product_of(a, b)
    integer, intent(in) :: a, b
    product_of = a * b
  end function
  pure real(8) function greater(a, b)
    real(8), value, intent(in) :: a, b
    greater = max(a, b)
  end function
  pure logical function both_true(a, b)
    logical, intent(in) :: a, b
    both_true = a .and. b
  end function
  pure complex(8) function add_complex(a, b)
    complex(8), intent(in) :: a, b
    add_complex = a + b
  end function
  pure function later(a, b)
    character(4), intent(in) :: a, b
    character(4) :: later
    later = merge(a, b, a > b)
  end function
  pure type(pair) function add_pairs(a, b)
    type(pair), intent(in) :: a, b
    add_pairs = pair(a%a + b%a, a%b + b%b)
  end function
end program
