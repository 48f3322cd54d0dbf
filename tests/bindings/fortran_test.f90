! SPDX-License-Identifier: BSD-3-Clause
! Module omnipgas on two ranks: put and get of every intrinsic type and kind, of sections; errors. Most tests put to the
! partner and get it back; the values tell who sent what.
program fortran_test
  use expectations
  use omnipgas
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  implicit none
  integer :: rank, partner
  integer(c_int64_t) :: box, flag
  integer(c_size_t), parameter :: room = 4096
  ! Kinds that not every machine has.
  integer, parameter :: int128 = merge(16, int64, any(integer_kinds == 16))
  integer, parameter :: real80 = merge(10, real128, any(real_kinds == 10))

  call need(ompl_init() == OMPL_OK, "ompl_init")
  rank = ompl_rank()
  partner = 1 - rank
  call need(ompl_size() == 2, "these tests need two ranks")
  call need(ompl_alloc(room, box) == OMPL_OK, "ompl_alloc")
  call need(ompl_alloc(4_c_size_t, flag) == OMPL_OK, "ompl_alloc")

  call integers()
  call reals()
  call complexes()
  call logicals_and_characters()
  call derived()
  call sections()
  call signals_and_contexts()
  call errors()

  call need(ompl_finalize() == OMPL_OK, "ompl_finalize")
  call report()

contains

  subroutine need(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what // ": " // ompl_error_detail()
  end subroutine

  ! Both ranks have put what they put.
  subroutine meet()
    call need(ompl_barrier() == OMPL_OK, "ompl_barrier")
  end subroutine

  ! The result of a put, whose data are then at the partner: gets are not ordered after puts.
  integer(c_int) function sent(code)
    integer(c_int), intent(in) :: code
    sent = min(code, ompl_flush())
  end function

  ! A put of `source` and a get of the same by the partner came out right: `equal` says whether it did.
  subroutine both(put_code, get_code, equal, what)
    integer(c_int), intent(in) :: put_code, get_code
    logical, intent(in) :: equal
    character(*), intent(in) :: what
    call expect(put_code == OMPL_OK .and. get_code == OMPL_OK .and. equal, what)
    call meet()
  end subroutine

  subroutine integers()
    integer(int8) :: a1(5), b1(5)
    integer(int16) :: a2(5), b2(5)
    integer(int32) :: a4(5), b4(5)
    integer(int64) :: a8(5), b8(5)
    integer(int128) :: a16(5), b16(5)
    integer :: i, p, g
    a16 = [(10 * rank + i, i=1, 5)]
    a1 = int(a16, int8); a2 = int(a16, int16); a4 = int(a16); a8 = int(a16, int64)
    p = sent(ompl_put(a1, partner, box)); g = ompl_get(b1, partner, box); call both(p, g, all(a1 == b1), "int8")
    p = sent(ompl_put(a2, partner, box)); g = ompl_get(b2, partner, box); call both(p, g, all(a2 == b2), "int16")
    p = sent(ompl_put(a4, partner, box)); g = ompl_get(b4, partner, box); call both(p, g, all(a4 == b4), "int32")
    p = sent(ompl_put(a8, partner, box)); g = ompl_get(b8, partner, box); call both(p, g, all(a8 == b8), "int64")
    p = sent(ompl_put(a16, partner, box)); g = ompl_get(b16, partner, box); call both(p, g, all(a16 == b16), "int128")
  end subroutine

  subroutine reals()
    real(real32) :: a4(5), b4(5)
    real(real64) :: a8(5), b8(5)
    real(real80) :: a10(5), b10(5)
    real(real128) :: a16(5), b16(5)
    integer :: i, p, g
    a16 = [(10 * rank + i / 3.0_real128, i=1, 5)]
    a4 = real(a16, real32); a8 = real(a16, real64); a10 = real(a16, real80)
    p = sent(ompl_put(a4, partner, box)); g = ompl_get(b4, partner, box); call both(p, g, all(a4 == b4), "real32")
    p = sent(ompl_put(a8, partner, box)); g = ompl_get(b8, partner, box); call both(p, g, all(a8 == b8), "real64")
    p = sent(ompl_put(a10, partner, box)); g = ompl_get(b10, partner, box); call both(p, g, all(a10 == b10), "real80")
    p = sent(ompl_put(a16, partner, box)); g = ompl_get(b16, partner, box); call both(p, g, all(a16 == b16), "real128")
  end subroutine

  subroutine complexes()
    complex(real32) :: a4(5), b4(5)
    complex(real64) :: a8(5), b8(5)
    complex(real128) :: a16(5), b16(5)
    integer :: i, p, g
    a16 = [(cmplx(rank, i, real128), i=1, 5)]
    a4 = cmplx(a16, kind=real32); a8 = cmplx(a16, kind=real64)
    p = sent(ompl_put(a4, partner, box)); g = ompl_get(b4, partner, box); call both(p, g, all(a4 == b4), "complex32")
    p = sent(ompl_put(a8, partner, box)); g = ompl_get(b8, partner, box); call both(p, g, all(a8 == b8), "complex64")
    p = sent(ompl_put(a16, partner, box)); g = ompl_get(b16, partner, box); call both(p, g, all(a16 == b16), "complex128")
  end subroutine

  subroutine logicals_and_characters()
    logical(1) :: l1(5), m1(5)
    logical :: l4(5), m4(5)
    character(7) :: s(3), t(3)
    character(kind=4, len=3) :: w, v
    integer :: p, g
    l4 = [.true., .false., rank == 0, .true., rank == 1]
    l1 = l4
    s = ["eins   ", "zwei   ", "sieben" // achar(48 + rank)]
    w = 4_"abc"
    p = sent(ompl_put(l1, partner, box)); g = ompl_get(m1, partner, box); call both(p, g, all(l4 .eqv. m1), "logical(1)")
    p = sent(ompl_put(l4, partner, box)); g = ompl_get(m4, partner, box); call both(p, g, all(l4 .eqv. m4), "logical")
    p = sent(ompl_put(s, partner, box)); g = ompl_get(t, partner, box); call both(p, g, all(s == t), "character(7)")
    p = sent(ompl_put(w, partner, box)); g = ompl_get(v, partner, box); call both(p, g, w == v, "character(kind=4)")
    p = sent(ompl_put(s(3)(2:4), partner, box)); g = ompl_get(t(1)(5:7), partner, box)
    call both(p, g, t(1)(5:7) == "ieb", "substring")
    call assumed(s, t)
  end subroutine

  subroutine assumed(s, t)
    character(*), intent(inout) :: s(:), t(:)
    integer :: p, g
    t = ""
    p = sent(ompl_put(s(3:1:-2), partner, box)); g = ompl_get(t(1:2), partner, box)
    call both(p, g, t(1) == s(3) .and. t(2) == s(1), "character(*), reversed")
  end subroutine

  subroutine derived()
    type :: particle
      real(real64) :: place(3)
      integer :: kind
    end type
    type(particle) :: a(4), b(4)
    integer :: kinds(4), i, p, g
    complex :: z(3), y(3)
    do i = 1, 4
      a(i) = particle([1, 2, 3] * 1.5_real64, 10 * rank + i)
    end do
    p = sent(ompl_put(a, partner, box)); g = ompl_get(b, partner, box)
    call both(p, g, all(a%kind == b%kind) .and. b(4)%place(3) == 4.5_real64, "derived type")
    p = sent(ompl_put(a%kind, partner, box)); g = ompl_get(kinds, partner, box)
    call both(p, g, all(kinds == a%kind), "component of an array")
    z = [(cmplx(i, -i), i=1, 3)]
    y = 0
    p = sent(ompl_put(z%im, partner, box)); g = ompl_get(y%re, partner, box)
    call both(p, g, all(real(y) == [-1, -2, -3]) .and. all(aimag(y) == 0), "parts of complex numbers")
  end subroutine

  subroutine sections()
    real(real64) :: a(6, 5, 4), b(6, 5, 4), flat(120), scalar
    integer :: c(2, 2, 2, 2, 2, 2, 2, 2), d(2, 2, 2, 2, 2, 2, 2, 2), i, p, g
    a = reshape([(100.0_real64 * rank + i, i=1, 120)], shape(a))
    b = 0
    p = sent(ompl_put(a(2, 3, 4), partner, box)); g = ompl_get(scalar, partner, box)
    call both(p, g, scalar == a(2, 3, 4), "an element")
    p = sent(ompl_put(a(:, :, 2:3), partner, box)); g = ompl_get(b(:, :, 1:2), partner, box)
    call both(p, g, all(b(:, :, 1:2) == a(:, :, 2:3)) .and. all(b(:, :, 3:) == 0), "planes")
    b = 0
    p = sent(ompl_put(a(3, :, :), partner, box)); g = ompl_get(b(5, :, :), partner, box)
    call both(p, g, all(b(5, :, :) == a(3, :, :)) .and. count(b /= 0) == 20, "a plane across")
    b = 0
    p = sent(ompl_put(a(6:1:-2, 2:4, ::3), partner, box)); g = ompl_get(flat(:18), partner, box)
    call both(p, g, all(flat(:18) == reshape(a(6:1:-2, 2:4, ::3), [18])), "strides, one negative; the target is packed")
    g = ompl_get(b(1:5:2, 5:3:-1, 1:2), partner, box)
    call both(p, g, all(b(1:5:2, 5:3:-1, 1:2) == a(6:1:-2, 2:4, ::3)) .and. count(b /= 0) == 18, "scattered get")
    p = sent(ompl_put((a([1, 5, 2], 3, 1)), partner, box)); g = ompl_get(flat(:3), partner, box)
    call both(p, g, all(flat(:3) == a([1, 5, 2], 3, 1)), "vector subscript, in parentheses")
    p = sent(ompl_put(a(5:4, :, :), partner, box)); g = ompl_get(b(:, :, 3:2), partner, box)
    call both(p, g, .true., "nothing")
    c = reshape([(i + rank, i=1, 256)], shape(c))
    d = 0
    p = sent(ompl_put(c(:, 1, :, :, :, :, :, :), partner, box)); g = ompl_get(d(:, 2, :, :, :, :, :, :), partner, box)
    call both(p, g, all(d(:, 2, :, :, :, :, :, :) == c(:, 1, :, :, :, :, :, :)) .and. all(d(:, 1, :, :, :, :, :, :) == 0), &
              "seven dimensions")
    d = 0
    p = sent(ompl_put(c(2:1:-1, :, :, :, :, :, :, 1:1), partner, box)); g = ompl_get(d(:, :, :, :, :, :, :, 2:2), partner, box)
    call both(p, g, all(d(:, :, :, :, :, :, :, 2) == c(2:1:-1, :, :, :, :, :, :, 1)), "eight dimensions")
  end subroutine

  subroutine signals_and_contexts()
    integer(int32) :: a(10), b(10)
    integer(int32), pointer, volatile :: inbox(:)
    type(c_ptr) :: ctx
    integer :: i, code
    call c_f_pointer(ompl_ptr(rank, box), inbox, [10])
    a = [(10 * rank + i, i=1, 10)]
    call expect(ompl_poll(flag) == 0, "no signal yet")
    call expect(ompl_ctx_wait(c_null_ptr, flag, 1000000_c_int64_t) == OMPL_ERR_TIMEOUT, "a wait with a limit")
    call meet()
    call expect(ompl_put_signal(a, partner, box, flag) == OMPL_OK, "put_signal")
    code = ompl_wait(flag)
    call expect(code == OMPL_OK .and. all(inbox == [(10 * partner + i, i=1, 10)]), "arrived with the signal")
    call meet()
    call expect(ompl_put_signal(a(10:1:-1), partner, box, flag) == OMPL_OK, "put_signal of a section")
    code = ompl_wait(flag)
    call expect(code == OMPL_OK .and. all(inbox == [(10 * partner + i, i=10, 1, -1)]), "with the signal, too")
    call meet()
    call expect(ompl_put_signal(a, partner, box, 8_c_size_t, flag) == OMPL_OK, "put_signal of bytes")
    code = ompl_wait(flag)
    call expect(code == OMPL_OK .and. all(inbox(:2) == 10 * partner + [1, 2]), "eight bytes")
    call meet()

    call expect(ompl_ctx_create(ctx) == OMPL_OK, "ctx_create")
    call expect(ompl_ctx_put(ctx, a(2:10:2), partner, box) == OMPL_OK, "ctx_put of a section")
    call expect(ompl_ctx_put(ctx, a, partner, box + 20, 12_c_size_t, OMPL_FOREVER) == OMPL_OK, "ctx_put of bytes")
    call expect(ompl_ctx_put_word(ctx, partner, flag, OMPL_FOREVER) == OMPL_OK, "ctx_put_word")
    call expect(ompl_ctx_wait(ctx, flag, 20000000000_c_int64_t) == OMPL_OK, "ctx_wait")
    call expect(all(inbox(:8) == 10 * partner + [2, 4, 6, 8, 10, 1, 2, 3]), "both arrived")
    b = 0
    code = ompl_ctx_get(ctx, b(1:9:2), rank, box)
    call expect(code == OMPL_OK .and. all(b(1:9:2) == inbox(:5)), "ctx_get of a section")
    call expect(all([ompl_ctx_flush(ctx, OMPL_FOREVER), ompl_ctx_quiet(ctx, OMPL_FOREVER)] == OMPL_OK), "quiet")
    call expect(all([ompl_ctx_destroy(ctx), ompl_flush(), ompl_quiet()] == OMPL_OK), "destroy")
    call expect(ompl_barrier_timed(20000000000_c_int64_t) == OMPL_OK, "a barrier with a limit")
  end subroutine

  subroutine errors()
    real(real64) :: a(10, 60)
    a = 0
    call expect(ompl_put(a, 7, box) == OMPL_ERR_RANK, "no such rank")
    call expect(index(ompl_error_detail(), "rank 7 does not exist") > 0, "the detail says so")
    call expect(ompl_put(a(::2, :), partner, 0_c_int64_t) == OMPL_ERR_OFFSET, "offset 0")
    call expect(ompl_put(a, partner, box) == OMPL_ERR_LENGTH, "longer than the allocation")
    call expect(ompl_get(a(::2, :), partner, box + 2048) == OMPL_ERR_LENGTH, "a section longer than the allocation")
    call expect(ompl_wait(flag + 1) == OMPL_ERR_ALIGN, "a flag between words")
    call expect(ompl_free(box + 8) == OMPL_ERR_OFFSET, "free of what was not allocated")
    call expect(index(ompl_strerror(OMPL_ERR_PEER), "OMPL_ERR_PEER") == 1, "strerror")
    call expect(scan(ompl_version(), ".") > 1, "version")
    call expect(all([ompl_free(flag), ompl_free(box)] == OMPL_OK), "free")
  end subroutine

end program fortran_test
