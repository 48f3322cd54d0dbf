! SPDX-License-Identifier: BSD-3-Clause
! What the programs in Fortran write of what they expect, as expect.h does.
  subroutine expect(what, fields)
    character(len=*), intent(in) :: what, fields
    write (unit, '(a)') '{"call": "'//what//'", '//fields//'}'
  end subroutine

  subroutine message(what, to, tag, bytes, flags)
    character(len=*), intent(in) :: what, flags
    integer, intent(in) :: to, tag, bytes
    character(len=256) :: fields
    write (fields, '(a,i0,a,i0,a,i0,a)') '"peer": ', to, ', "tag": ', tag, ', "bytes": ', bytes, &
      ', "comm": 1, "flags": ['//flags//'"fortran"]'
    call expect(what, trim(fields))
  end subroutine
