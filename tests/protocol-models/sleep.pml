/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flag and sleep protocol (rules 8, 9, 15) on weakly ordered memory: no lost wake-up, no lost signal.
 *
 * Two flags share bucket 0; waiters for several flags sleep in bucket ANY. Every thread has a store buffer:
 * what it adds relaxed reaches memory later, in order; a seq_cst add waits until its buffer is empty and is
 * in memory at once; a load reads memory. The good protocol uses seq_cst for the four accesses of the
 * store-buffering shape (add to flag, load sleepers; add to sleepers, load flag) and deregisters relaxed.
 * With TOTAL=1, as the code does it, a producer first looks at the number of all sleepers of the rank.
 *
 * @small SCENE=1 TOTAL=0
 * @small SCENE=1 TOTAL=1
 * @small SCENE=2 TOTAL=1
 * @small SCENE=3 TOTAL=1
 * @small SCENE=4 TOTAL=1
 * @small SCENE=5 TOTAL=1
 * @small SCENE=6 TOTAL=1
 * @long  SCENE=7 TOTAL=0
 * @long  SCENE=7 TOTAL=1
 * @long  SCENE=8 TOTAL=0
 * @bug SCENE=1 TOTAL=0 NO_FENCE_PRODUCER : no_lost_wakeup
 * @bug SCENE=1 TOTAL=0 NO_FENCE_SLEEPER : no_lost_wakeup
 * @bug SCENE=3 TOTAL=1 NO_FENCE_TOTAL : no_lost_wakeup
 * @bug SCENE=1 TOTAL=0 NO_RELOOK : no_lost_wakeup
 * @bug SCENE=1 TOTAL=0 WAKE_BEFORE_ADD : no_lost_wakeup
 * @bug SCENE=1 TOTAL=0 COUNT_AFTER_LOOK : no_lost_wakeup
 * @bug SCENE=1 TOTAL=0 NO_BUMP : no_lost_wakeup
 * @bug SCENE=2 TOTAL=0 WAKE_ONE : no_lost_wakeup
 * @bug SCENE=3 TOTAL=0 NO_LOOK_AT_ANY : no_lost_wakeup
 * @bug SCENE=4 TOTAL=0 TIMEOUT_TAKES : no_lost_signal
 * @bug SCENE=4 TOTAL=0 NO_LOOK_AT_DEATH : no_lost_wakeup
 * @bug SCENE=5 TOTAL=0 SILENT_GIVE_BACK : no_lost_wakeup
 * @bug SCENE=5 TOTAL=0 NO_GIVE_BACK : no_lost_signal
 */

#define BUCKET 0        /* of both flags */
#define ANY 1           /* of waiters for several flags */
#define THREADS 7

/* The words of the target's segment. Adds to FLAG and SLEEPERS may pass through a store buffer. */
#define FLAG(f) memory[f]
#define SLEEPERS(b) memory[2 + b]
#define ALL_SLEEPERS memory[4]
byte memory[5];
bool dead;              /* the death word */
byte current[2];        /* a bucket's event count, as the set of threads that read it since the last bump */
byte queue[2];          /* a bucket's futex: the set of threads asleep on it */
chan buffer[THREADS] = [2] of { byte, byte };   /* store buffers: index in memory, amount to add */

byte added[2], taken[2];        /* for the properties only */
hidden byte no_lost_wakeup, no_lost_signal;     /* `hidden`: no part of the state */
hidden byte word, amount;       /* scratch of one step */

#define BIT(i) (1 << (i))
#define MINUS_ONE 255           /* modulo 256 */

/* ---- memory: what the C++ and the hardware's model leave open between two threads ---- */

proctype store_buffer(byte thread) {
end:
  do
  :: d_step { buffer[thread]?word, amount -> memory[word] = memory[word] + amount }
  od
}   /* unreached: memory never ends */

inline add_seq_cst(index, n) { d_step { empty(buffer[me]) -> memory[index] = memory[index] + n } }
inline add_relaxed(index, n) { buffer[me]!index, n }

/* ---- producers: rule 15, first half ---- */

inline wake_if_asleep(b) {
  if
  :: SLEEPERS(b) == 0
  :: else ->
#ifndef NO_BUMP
    current[b] = 0;
#endif
#ifdef WAKE_ONE
    queue[b] = queue[b] & (queue[b] - 1)
#else
    queue[b] = 0
#endif
  fi
}

inline look_for_sleepers() {
  if
  :: TOTAL && ALL_SLEEPERS == 0
  :: else ->
    wake_if_asleep(BUCKET);
#ifndef NO_LOOK_AT_ANY
    wake_if_asleep(ANY)
#endif
  fi
}

inline add_to_flag(f) {
#ifdef NO_FENCE_PRODUCER
  add_relaxed(f, 1)
#else
  add_seq_cst(f, 1)
#endif
}

inline raise(f) {
#ifdef WAKE_BEFORE_ADD
  look_for_sleepers();
  add_to_flag(f)
#else
  add_to_flag(f);
  look_for_sleepers()
#endif
}

proctype producer(byte me, flag) {
  raise(flag)
}

/* A rank is known dead (rule 18): whoever learns it sets the word and wakes everybody. */
proctype death() {
  if
  :: true
  :: dead = true;
    wake_if_asleep(BUCKET);
    wake_if_asleep(ANY)
  fi
}

/* ---- waiters: rules 8 and 9, and rule 15, second half ---- */

/* Compare-swap: one less if positive. */
inline take(f, got) {
  d_step {
    got = (FLAG(f) > 0);
    FLAG(f) = FLAG(f) - got;
    taken[f] = taken[f] + got
  }
}

/* Takes one from any wanted flag, looking at one flag after the other. */
inline take_any(got) {
  got = false;
  if
  :: wants & BIT(0) -> take(0, got)
  :: else
  fi;
  if
  :: !got && (wants & BIT(1)) -> take(1, got)
  :: else
  fi
}

/* Takes one from both flags once both are positive; gives back and wakes if it loses a race (rule 9). */
inline take_all(got) {
  got = false;
  if
  :: FLAG(0) == 0
  :: else ->
    if
    :: FLAG(1) == 0
    :: else ->
      take(0, got);
      if
      :: !got
      :: else ->
        take(1, got);
        if
        :: got
        :: else -> give_back(0)
        fi
      fi
    fi
  fi
}

inline give_back(f) {
  taken[f]--;
#if defined(SILENT_GIVE_BACK)
  add_seq_cst(f, 1)
#elif !defined(NO_GIVE_BACK)
  raise(f)
#endif
}

/* Is there a reason not to sleep? */
#define ready (all -> FLAG(0) && FLAG(1) \
                   : ((wants & BIT(0)) && FLAG(0)) || ((wants & BIT(1)) && FLAG(1)))

/* The same question, one load after the other. */
inline look_again(reason) {
  if
  :: !(wants & BIT(0)) -> reason = false
  :: else -> reason = (FLAG(0) > 0)
  fi;
  if
  :: !(wants & BIT(1)) || (reason != all)   /* decided by the first flag */
  :: else -> reason = (FLAG(1) > 0)
  fi
}

inline register() {
#ifdef NO_FENCE_SLEEPER
  add_relaxed(2 + bucket, 1)
#else
  add_seq_cst(2 + bucket, 1)
#endif
  if
#ifdef NO_FENCE_TOTAL
  :: TOTAL -> add_relaxed(4, 1)
#else
  :: TOTAL -> add_seq_cst(4, 1)
#endif
  :: !TOTAL
  fi
}

inline deregister() {
  if
  :: TOTAL -> add_relaxed(4, MINUS_ONE)
  :: !TOTAL
  fi;
  add_relaxed(2 + bucket, MINUS_ONE)
}

/* Waits again and again, until its time limit, if it has one, or a death ends it. On the way to sleep: register,
 * read the count, look again, sleep on the count read. */
proctype waiter(byte me, bucket, wants; bool all, timed) {
  bool yes, over;
  do
  :: if
     :: all -> take_all(yes)
     :: else -> take_any(yes)
     fi;
     if
     :: yes -> yes = false              /* OMPL_OK: waits for the next one */
     :: else ->
       if
       :: over -> break                 /* OMPL_ERR_TIMEOUT or OMPL_ERR_PEER */
       :: else
       fi;
       register();
#ifdef COUNT_AFTER_LOOK
       look_again(yes);
       current[bucket] = current[bucket] | BIT(me);
#else
       current[bucket] = current[bucket] | BIT(me);
#ifndef NO_RELOOK
       look_again(yes);
#endif
#endif
#ifndef NO_LOOK_AT_DEATH
       over = dead;
#endif
       if
       :: yes || over
       :: else ->
         d_step {       /* futex wait: the kernel compares the count and queues the thread in one step */
           if
           :: current[bucket] & BIT(me) -> queue[bucket] = queue[bucket] | BIT(me)
           :: else
           fi
         }
end_asleep:
         if
         :: !(queue[bucket] & BIT(me))
         :: timed -> d_step { queue[bucket] = queue[bucket] & ~BIT(me); over = true }
         :: timeout ->      /* nothing moves any more */
           no_lost_wakeup = !ready && !dead;
           assert(no_lost_wakeup);
end_asleep_for_good:
           false
         fi
       fi;
       d_step { yes = false; current[bucket] = current[bucket] & ~BIT(me) }     /* it will read anew */
       deregister()
     fi
  od;
#ifdef TIMEOUT_TAKES
  atomic { if :: FLAG(0) -> FLAG(0)-- :: else fi }
#endif
}

/* Nothing moves any more: what was added is taken or still there. */
active proctype observer() {
  timeout ->
    no_lost_signal = (taken[0] + FLAG(0) == added[0]) && (taken[1] + FLAG(1) == added[1]);
    assert(no_lost_signal)
}

/* ---- scenes ---- */

inline start_waiter(me, bucket, wants, all, timed) {
  run store_buffer(me); run waiter(me, bucket, wants, all, timed)
}
inline start_producer(me, flag) { added[flag]++; run store_buffer(me); run producer(me, flag) }

#define F0 1
#define F1 2

init {
  atomic {
#if SCENE == 1      /* two producers, two waiters on one flag */
    start_waiter(0, BUCKET, F0, false, false);
    start_waiter(1, BUCKET, F0, false, false);
    start_producer(4, 0);
    start_producer(5, 0)
#elif SCENE == 2    /* two flags in one bucket, a waiter for each */
    start_waiter(0, BUCKET, F0, false, false);
    start_waiter(1, BUCKET, F1, false, false);
    start_producer(4, 0);
    start_producer(5, 1)
#elif SCENE == 3    /* a waiter for one flag, a waiter for either in ANY */
    start_waiter(0, BUCKET, F0, false, false);
    start_waiter(1, ANY, F0 | F1, false, false);
    start_producer(4, 0);
    start_producer(5, 1)
#elif SCENE == 4    /* a time limit, and perhaps a death */
    start_waiter(0, BUCKET, F0, false, true);
    start_waiter(1, ANY, F0 | F1, false, false);
    start_producer(4, 0);
    run death()
#elif SCENE == 5    /* a waiter for both flags against a waiter for either */
    start_waiter(0, ANY, F0 | F1, true, false);
    start_waiter(1, ANY, F0 | F1, false, false);
    start_producer(4, 0);
    start_producer(5, 1)
#elif SCENE == 6    /* a waiter for both flags against a waiter for one */
    start_waiter(0, ANY, F0 | F1, true, false);
    start_waiter(1, BUCKET, F1, false, false);
    start_producer(4, 0);
    start_producer(5, 1)
#elif SCENE == 7    /* three producers */
    start_waiter(0, BUCKET, F0, false, false);
    start_waiter(1, ANY, F0 | F1, false, false);
    start_producer(4, 0);
    start_producer(5, 0);
    start_producer(6, 1)
#elif SCENE == 8    /* three waiters */
    start_waiter(0, BUCKET, F0, false, false);
    start_waiter(1, BUCKET, F1, false, false);
    start_waiter(2, ANY, F0 | F1, true, false);
    start_producer(4, 0);
    start_producer(5, 1)
#endif
  }
}
