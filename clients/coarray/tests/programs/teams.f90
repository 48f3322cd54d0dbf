! SPDX-License-Identifier: BSD-3-Clause
! Teams: their images, coarrays inside, and teams of teams.
program teams
  use iso_fortran_env
  use check
  implicit none
  type(team_type) :: half, alone
  integer :: number[*], me, n, mine, i, whole

  me = this_image()
  n = num_images()
  call expect(team_number() == -1, 'the initial team')
  number = me
  mine = 2 - mod(me, 2)
  form team (mine, half)
  change team (half)
    call expect(team_number() == mine, 'team_number')
    call expect(num_images() == (n + merge(1, 0, mine == 1)) / 2, 'num_images in a team')
    call expect(this_image() == (me + 1) / 2, 'this_image in a team')
    whole = number[num_images()]
    call expect(mod(whole, 2) == mod(me, 2) .and. whole + 1 >= n, 'a coarray of the parent, by images of the team')
    i = 1
    call co_sum(i)
    call expect(i == num_images(), 'a collective of a team')
    call within(mine)
    sync all
    form team (this_image(), alone)
    change team (alone)
      call expect(num_images() == 1 .and. this_image() == 1, 'a team of one')
      sync all
    end team
    call deeper(1)
  end team
  call expect(this_image() == me .and. num_images() == n .and. team_number() == -1, 'back in the initial team')
  sync team (half)
  do i = 1, 60  ! many teams of the same images: they take no memory of collectives
    form team (1 + mod(me + i, 2), half)
    change team (half)
      whole = 1
      call co_sum(whole)
      call expect(whole == num_images(), 'a collective of a new team')
    end team
  end do
contains
  subroutine within(team)
    integer, intent(in) :: team
    integer, allocatable :: inside(:)[:]
    integer :: next
    allocate (inside(10 * team)[*])  ! different in different teams
    next = merge(1, this_image() + 1, this_image() == num_images())
    inside = 100 * team + this_image()
    sync all
    call expect(all(inside(:)[next] == 100 * team + next), 'a coarray of a team')
    sync all
    deallocate (inside)
    allocate (inside(5)[*])
    sync all
  end subroutine

  recursive subroutine deeper(level)
    integer, intent(in) :: level
    type(team_type) :: next
    form team (7, next)
    change team (next)
      call at(level)
      if (level < 40) call deeper(level + 1)
    end team
  end subroutine

  subroutine at(level)  ! gfortran keeps allocatable coarrays of recursive procedures in one place
    integer, intent(in) :: level
    integer, allocatable :: local[:]
    allocate (local[*])
    local = level
    sync all
    call expect(local[num_images()] == level, 'deep in teams')
    sync all
  end subroutine
end program
