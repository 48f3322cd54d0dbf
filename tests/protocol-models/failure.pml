/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Death and departure in a job over shared memory (rules 18 and 19): a sleeper whose slice is over looks at
 * the other ranks' pidfds, and tells a death to all. Nobody sleeps through a death, nor through the half of a
 * signal that a rank left when it was killed; a rank that marked itself departed is not dead; after
 * ompl_failure_ack waits block again, until a further death.
 *
 * Slices end without end; here one ends only when a pidfd is readable that nobody has looked at, so that
 * whoever is not woken afterwards is seen to sleep for good.
 *
 * @small WAITERS=2 PEERS=1
 * @small WAITERS=2 PEERS=2
 * @small WAITERS=3 PEERS=1
 * @bug WAITERS=2 PEERS=1 WAKE_ONE_BUCKET  : death_noticed
 * @bug WAITERS=2 PEERS=1 WAKE_BEFORE_WORD : death_noticed
 * @bug WAITERS=2 PEERS=1 NO_LOOK_AT_DEATH : death_noticed
 * @bug WAITERS=2 PEERS=2 DEATH_IS_A_BIT   : death_noticed
 * @bug WAITERS=2 PEERS=1 IGNORED_DEATH_WAKES_NOBODY : no_lost_wakeup
 * @bug WAITERS=2 PEERS=1 DEPARTED_IS_DEAD : error_means_death
 */

inline wake_sentinel() { skip }         /* there is none */
#include "buckets.inc"

bool killed[2];         /* a peer, by SIGKILL */
bool departed[2];       /* the mark in its segment */
bool gone[2];           /* its pidfd is readable */
bool known[2];          /* this rank has seen that */
byte deaths;            /* the death word of this rank: number of ranks known dead */
byte acked;             /* how many of them ompl_failure_ack has seen */

hidden byte death_noticed, error_means_death;
#define died(p) (gone[p] && !departed[p])

/* ---- another rank: signals one flag, then departs ---- */

proctype peer(byte p, f) {
  {
    raise(f);
    departed[p] = true
  } unless {
    killed[p]
  };
  gone[p] = true
}

proctype killer(byte p) { killed[p] = true }

/* ---- this rank ---- */

inline tell_death() {
#if defined(IGNORED_DEATH_WAKES_NOBODY)
  atomic { deaths++; acked++ }
#elif defined(WAKE_BEFORE_WORD)
  wake_everybody();
  deaths++
#elif defined(DEATH_IS_A_BIT)
  deaths = 1;
  wake_everybody()
#else
  deaths++;
  wake_everybody()
#endif
}

inline wake_everybody() {
#ifdef WAKE_ONE_BUCKET
  wake_if_asleep(my_bucket)
#else
  wake_if_asleep(0);
  wake_if_asleep(1)
#endif
}

/* One thread at a time. */
inline look_at(p) {
  if
  :: atomic { gone[p] && !known[p] -> known[p] = true };
    if
#ifndef DEPARTED_IS_DEAD
    :: departed[p]
#endif
    :: else -> tell_death()
    fi
  :: !gone[p] || known[p]
  fi
}

/* Nothing moves any more, and this thread is asleep. */
inline check_asleep() {
  CHECK(no_lost_wakeup, flag[me] == 0);
  CHECK(death_noticed, died(0) + died(1) == acked)
}

proctype waiter(byte me) {
awake:
  if
  :: atomic { flag[me] > 0 -> flag[me]-- };
    if
    :: goto awake       /* OMPL_OK: waits for the next signal */
    :: goto away
    fi
  :: flag[me] == 0 && deaths != acked ->        /* OMPL_ERR_PEER */
    CHECK(error_means_death, died(0) || died(1));
    if
    :: acked = deaths; goto awake               /* ompl_failure_ack */
    :: goto away
    fi
  :: flag[me] == 0 && deaths == acked
  fi;

  register();
  read_count();
  if
  :: flag[me] > 0 -> goto stop
  :: else
  fi;
#ifndef NO_LOOK_AT_DEATH
  if
  :: deaths != acked -> goto stop
  :: else
  fi;
#endif
  futex_wait();
end_asleep:
  if
  :: woken
  :: (gone[0] && !known[0]) || (gone[1] && !known[1]) -> leave_futex()
  :: timeout -> check_asleep();
end_asleep_for_good:
    false
  fi;
stop:
  deregister();
  look_at(0);
  look_at(1);
  goto awake;
away:
}

init {
  byte i;
  atomic {
    do
    :: i == WAITERS -> break
    :: else -> run waiter(i); i++
    od;
    i = 0;
    do
    :: i == PEERS -> break
    :: else -> run peer(i, 1 - i); run killer(i); i++
    od
  }
}
