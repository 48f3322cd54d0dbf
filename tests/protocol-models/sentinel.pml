/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sentinel of a rank with a network conduit (rule 16, with 3, 13 and 15): of the sleeping threads one
 * watches the network for all. No record stays in a completion queue with everybody asleep, no wake-up is
 * lost, the role is always handed on. What rule 16 leaves open is settled thus, and checked:
 *  - a sleeper reads its bucket's count before it looks whether the role is free;
 *  - whoever releases a slot while the role is held claims it again, arms it, and wakes the sentinel if
 *    there is work already; opening a slot ends with such a release;
 *  - an event of a descriptor is taken under a claim only;
 *  - every thread that leaves the wait, not only the one that held the role, deregisters and then wakes a
 *    bucket with sleepers if the role is free.
 *
 * @small SCENE=1
 * @small SCENE=2
 * @small SCENE=3
 * @small SCENE=4
 * @long  SCENE=5
 * @long  SCENE=6
 * @bug SCENE=1 NO_HAND_ON_LEAVING : somebody_watches
 * @bug SCENE=3 NO_HAND_ON_LEAVING ONLY_THE_SENTINEL_HANDS_ON : somebody_watches
 * @bug SCENE=1 NO_HAND_ON_LEAVING LOOK_BEFORE_DEREGISTER : somebody_watches
 * @bug SCENE=1 NO_HAND_ON_LEAVING LOOK_BEFORE_CLEAR : somebody_watches
 * @bug SCENE=1 ROLE_BEFORE_COUNT : somebody_watches
 * @bug SCENE=1 ARM_WITHOUT_POLL : nothing_unseen
 * @bug SCENE=1 EVENT_WITHOUT_CLAIM : nothing_unseen
 * @bug SCENE=4 HOLDER_DOES_NOT_ARM : nothing_unseen
 * @bug SCENE=4 HOLDER_DOES_NOT_TELL : nothing_unseen
 * @bug SCENE=4 OPENER_DOES_NOT_ARM : nothing_unseen
 * @bug SCENE=2 NO_BYTE : no_lost_wakeup
 * @bug SCENE=2 LOOK_BEFORE_ROLE : no_lost_wakeup
 * @bug SCENE=2 DRAIN_AFTER_LOOK : no_lost_wakeup
 */

bool role;              /* somebody is the sentinel */
bool pipe;              /* there is a byte in its pipe */

inline wake_sentinel() {
#ifdef NO_BYTE
  skip
#else
  if
  :: role -> pipe = true
  :: else
  fi
#endif
}

#include "buckets.inc"

bool open[2];           /* slot 0 always; slot 1 once the worker has opened it */
bool claimed[2];
bool notify[2];         /* armed: the next record makes an event, once */
bool readable[2];       /* the descriptor: there is an event */
chan completions[2] = [2] of { byte };          /* signal records: the number of the flag */

hidden byte somebody_watches, nothing_unseen;

/* ---- the network, and a sister in shared memory ---- */

inline event(s) { readable[s] = readable[s] || notify[s]; notify[s] = false }

/* One record for one flag arrives on any open slot. */
proctype record(byte f) {
  atomic {
    if
    :: open[0] -> completions[0]!f; event(0)
    :: open[1] -> completions[1]!f; event(1)
    fi
  }
}

proctype sister(byte f) { raise(f) }

/* ---- slots ---- */

/* Takes at most one record, and applies it. Under a claim. */
inline progress(s) {
  if
  :: completions[s]?f -> raise(f); f = 0
  :: empty(completions[s])
  fi
}

/* False: there is work already. Under a claim. */
inline arm(s, quiet) {
#ifndef EVENT_WITHOUT_CLAIM
  readable[s] = false;
#endif
  notify[s] = true;
#ifndef ARM_WITHOUT_POLL
  quiet = quiet && empty(completions[s])
#endif
}

/* While a sentinel sleeps, whoever leaves a slot arms it: the sentinel could not. */
inline release(s) {
  claimed[s] = false;
#ifndef HOLDER_DOES_NOT_ARM
  if
  :: !role
  :: else ->
    if
    :: claimed[s]               /* the new holder will come here too */
    :: atomic { !claimed[s] -> claimed[s] = true };
      quiet = true;
      arm(s, quiet);
      claimed[s] = false;
      if
#ifndef HOLDER_DOES_NOT_TELL
      :: !quiet -> wake_sentinel()
#endif
      :: else
      fi;
      quiet = false
    fi
  fi
#endif
}

/* A thread that only puts: opens slot 1, then uses slot 0. */
proctype worker() {
  byte f;
  bool quiet;
  claimed[1] = true;
  open[1] = true;
#ifdef OPENER_DOES_NOT_ARM
  claimed[1] = false;
#else
  release(1);
#endif
  if
  :: claimed[0]
  :: atomic { !claimed[0] -> claimed[0] = true }; progress(0); release(0)
  fi
}

/* ---- waiters ---- */

inline try_progress(s) {
  if
  :: !open[s] || claimed[s]
  :: atomic { open[s] && !claimed[s] -> claimed[s] = true }; progress(s); release(s)
  fi
}

inline try_arm(s) {
  if
  :: !open[s] || claimed[s]             /* its holder arms it on release */
  :: atomic { open[s] && !claimed[s] -> claimed[s] = true }; arm(s, quiet); claimed[s] = false
  fi
}

inline try_role() {
  atomic { mine = !role; role = true }
}

inline look_for_successor() {
  if
  :: sleepers[0] > 0 -> wake(0)
  :: else -> wake_if_asleep(1)
  fi
}

inline hand_on() {
  if
  :: role               /* somebody has it */
  :: else -> look_for_successor()
  fi
}

/* Deregisters, and gives back the role. Not yet handed on: it may come back for it in a moment. */
inline resign() {
#ifdef LOOK_BEFORE_CLEAR
  deregister();
  look_for_successor();
  role = false
#elif defined(LOOK_BEFORE_DEREGISTER)
  role = false;
  hand_on();
  deregister()
#else
  deregister();
  role = false;
#ifdef ONLY_THE_SENTINEL_HANDS_ON
  hand_on()
#endif
#endif
}

/* Nothing moves any more, and this thread is asleep, on the futex or in epoll. */
inline check_asleep() {
  CHECK(no_lost_wakeup, flag[me] == 0);
  CHECK(somebody_watches, role);
  CHECK(nothing_unseen, empty(completions[0]) && empty(completions[1]) && notify[0] && (notify[1] || !open[1]))
}

proctype waiter(byte me; bool timed) {
  byte f;
  bool mine, quiet, over;

awake:
  if
  :: atomic { flag[me] > 0 -> flag[me]-- }; goto leave          /* OMPL_OK */
  :: flag[me] == 0 && over -> goto leave                        /* OMPL_ERR_TIMEOUT */
  :: flag[me] == 0 && !over
  fi;
  try_progress(0);
  try_progress(1);

  register();
#ifdef ROLE_BEFORE_COUNT
  try_role();
  read_count();
#else
  read_count();
#ifndef LOOK_BEFORE_ROLE
  try_role();
#endif
#endif
  if
  :: flag[me] > 0 -> goto stop
  :: else
  fi;
#ifdef LOOK_BEFORE_ROLE
  try_role();
#endif
#ifdef DRAIN_AFTER_LOOK
  if
  :: mine -> pipe = false
  :: else
  fi;
#endif
  if
  :: mine -> goto watch
  :: else
  fi;

  futex_wait();
end_asleep:
  if
  :: woken -> goto stop
  :: timed -> atomic { leave_futex(); over = true }; goto stop
  :: timeout -> check_asleep();
end_asleep_for_good:
    false
  fi;

watch:
  quiet = true;
  try_arm(0);
  try_arm(1);
  if
  :: quiet -> quiet = false
  :: else -> goto stop          /* there is work */
  fi;
end_watching:                   /* epoll on the descriptors and the pipe */
  if
  :: pipe -> pipe = false
  :: readable[0] || readable[1] ->
#ifdef EVENT_WITHOUT_CLAIM
    atomic { readable[0] = false; readable[1] = false }
#else
    skip
#endif
  :: timed -> over = true
  :: timeout -> check_asleep();
end_watching_for_good:
    false
  fi;

stop:
  if
  :: mine -> mine = false; resign()
  :: else -> deregister()
  fi;
  goto awake;

leave:                          /* to the caller, or into the yield hook */
#ifndef NO_HAND_ON_LEAVING
  hand_on();
#endif
  if
  :: over                       /* goes away, and never comes back */
  :: !over -> goto awake        /* waits for the next signal */
  :: !over
  fi
}

init {
  atomic {
    open[0] = true;
#if SCENE == 1          /* records only, on two slots */
    open[1] = true;
    run waiter(0, false);
    run waiter(1, false);
    run record(0);
    run record(1)
#elif SCENE == 2        /* a sister and a record, a time limit */
    run waiter(0, false);
    run waiter(1, true);
    run record(0);
    run sister(0)
#elif SCENE == 3        /* two threads in one bucket */
    run waiter(0, true);
    run waiter(1, false);
    run waiter(2, false);
    run record(2)
#elif SCENE == 4        /* a worker that uses a slot and opens another */
    run worker();
    run waiter(0, false);
    run record(0);
    run record(0)
#elif SCENE == 5        /* two waiters and a worker */
    run worker();
    run waiter(0, false);
    run waiter(1, false);
    run record(0)
#elif SCENE == 6        /* two records and a sister */
    run waiter(0, false);
    run waiter(1, true);
    run record(0);
    run record(1);
    run sister(0)
#endif
  }
}
