! SPDX-License-Identifier: BSD-3-Clause
! SYNC statements for Caffeine by the core, which goes on without images that have failed or stopped. Caffeine's own SYNC IMAGES waits
! for an event of each image, which a failed one never posts.
submodule(prif:prif_private_s) sync_stmt_s
  implicit none
contains

  module procedure sync_init
    call ompl_prif_settles()
  end procedure

  module procedure prif_sync_all
    call caf_sync_team(current_team%info%gex_team)
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_sync_team
    call caf_sync_team(team%info%gex_team)
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_sync_memory
    call caf_sync_memory()
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

  module procedure prif_sync_images
    integer(c_int) :: none(1)
    if (present(image_set)) then
      call ompl_prif_sync_images(current_team%info%gex_team, size(image_set, kind=c_int64_t), image_set)
    else
      call ompl_prif_sync_images(current_team%info%gex_team, -1_c_int64_t, none)
    end if
    call settle(stat, errmsg, errmsg_alloc)
  end procedure

end submodule
