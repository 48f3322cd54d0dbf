/* SPDX-License-Identifier: BSD-3-Clause
 * What the emulator of uTofu offers to tests beside uTofu's own interface. Any thread, unless it says otherwise. */
#ifndef OMPL_TESTS_UTOFU_EMULATOR_H
#define OMPL_TESTS_UTOFU_EMULATOR_H

#include <stdint.h>

#define UTOFU_EMULATOR_TNIS 6

#ifdef __cplusplus
extern "C" {
#endif

/* How hostile the interconnect is. The settings at first: UTOFU_EMULATOR_SEED, _TOQ, _MRQ, _SPURIOUS_BUSY, _DELAY. */
struct utofu_emulator_settings {
  uint64_t seed;
  unsigned
      toq_depth; /* commands of a VCQ that are not done, or of which poll_tcq() has not given the room back */
  unsigned mrq_depth;     /* notices that wait in a VCQ; one more is a violation */
  unsigned spurious_busy; /* one post of so many is answered BUSY for no reason; 0: none */
  unsigned
      delay; /* a piece of a command, or its notice, moves at one step of about so many; 0: at once, in order */
};
void utofu_emulator_get(struct utofu_emulator_settings* settings);
/* From now on; a new seed is for VCQs made after this. While no VCQ has commands. */
void utofu_emulator_set(const struct utofu_emulator_settings* settings);

/* The command that is the `after`th from now to be posted by any VCQ of this process (1: the next) ends with the error
 * `code`: UTOFU_ERR_TCQ_*, or UTOFU_ERR_MRQ_*; any other is what the post itself returns. */
void utofu_emulator_inject(uint64_t after, int code);
/* Every command to VCQs of this process, from now on, ends with UTOFU_ERR_MRQ_PEER. */
void utofu_emulator_cut(void);

/* What happened in this process. */
struct utofu_emulator_counts {
  uint64_t posts; /* commands taken */
  uint64_t busy;  /* posts answered BUSY */
  uint64_t
      overtaken; /* commands that ended after one that was posted later by the same VCQ to the same VCQ */
  uint64_t torn; /* pieces of data that were written before others that stand at lower addresses */
  uint64_t vcqs; /* VCQs there are */
  uint64_t puts[UTOFU_EMULATOR_TNIS];  /* puts from memory taken, by TNI */
  uint64_t bytes[UTOFU_EMULATOR_TNIS]; /* of them */
};
void utofu_emulator_count(struct utofu_emulator_counts* counts);

#ifdef __cplusplus
}
#endif

#endif
