/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dissemination barrier over counting flags (rules 5, 8, 20): in round k a rank signals the one at
 * distance 2^k and takes one signal from its own flag of that round. A fast rank may signal the next barrier
 * before a slow one has taken the signal of this one: flags count, so nothing needs resetting. Nobody leaves
 * a barrier before all have entered it; everybody leaves (or the end state is invalid).
 *
 * @small RANKS=2 ROUNDS=1 BARRIERS=3
 * @small RANKS=3 ROUNDS=2 BARRIERS=2
 * @small RANKS=4 ROUNDS=2 BARRIERS=2
 * @long  RANKS=4 ROUNDS=2 BARRIERS=4
 * @long  RANKS=5 ROUNDS=3 BARRIERS=2
 * @bug RANKS=3 ROUNDS=1 BARRIERS=2 : nobody_leaves_early
 * @bug RANKS=4 ROUNDS=2 BARRIERS=2 ONE_FLAG : nobody_leaves_early
 * @bug RANKS=2 ROUNDS=1 BARRIERS=3 SET_FLAG : invalid end state
 */

byte entered[RANKS];                    /* number of barriers entered */
#ifdef ONE_FLAG
#define FLAG(rank, round) (rank)
#else
#define FLAG(rank, round) ((rank) * ROUNDS + (round))
#endif
byte sent[RANKS * ROUNDS];              /* signals under way to each flag: not ordered among themselves */
byte flag[RANKS * ROUNDS];

hidden byte nobody_leaves_early;

inline barrier() {
  entered[me]++;
  round = 0;
  do
  :: round == ROUNDS -> break
  :: else ->
    sent[FLAG((me + (1 << round)) % RANKS, round)]++;
    atomic { flag[FLAG(me, round)] > 0 -> flag[FLAG(me, round)]-- };
    round++
  od
}

inline check_all_entered() {
  d_step {
    nobody_leaves_early = true;
    other = 0;
    do
    :: other == RANKS -> break
    :: other < RANKS && entered[other] < entered[me] -> nobody_leaves_early = false; other++
    :: else -> other++
    od;
    other = 0
  };
  assert(nobody_leaves_early)
}

proctype rank(byte me) {
  byte round, other;
  do
  :: entered[me] == BARRIERS -> break
  :: else -> barrier(); check_all_entered()
  od
}

proctype network(byte f) {
end:
  do
#ifdef SET_FLAG
  :: d_step { sent[f] > 0 -> sent[f]--; flag[f] = 1 }
#else
  :: d_step { sent[f] > 0 -> sent[f]--; flag[f]++ }
#endif
  od
}   /* unreached: the network never ends */

init {
  byte i;
  atomic {
    do
    :: i == RANKS * ROUNDS -> break
    :: else -> run network(i); i++
    od;
    i = 0;
    do
    :: i == RANKS -> break
    :: else -> run rank(i); i++
    od
  }
}
