/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that wait for some of one exchange at once (src/halo: Halo::wait_some, Flagged::test): look, and if there is nothing go to
 * sleep, and look again (rule 15). Data of neighbours arrive, and a put of this rank gets done, whose handle one thread at a time
 * tests. Each neighbour is named once; who is told that nothing is left has that right; nobody sleeps for good (or the end
 * state is invalid).
 *
 * @small THREADS=2 NEIGHBOURS=2
 * @small THREADS=3 NEIGHBOURS=1
 * @bug THREADS=2 NEIGHBOURS=2 TRY_LOCK : invalid end state
 * @bug THREADS=2 NEIGHBOURS=2 NAMED_UNSEEN : named_once
 * @bug THREADS=2 NEIGHBOURS=2 COMPLETE_AFTER_NAMES : nothing_left
 * @bug THREADS=2 NEIGHBOURS=2 COUNT_AFTER_LOOK : invalid end state
 */

bool arrived[NEIGHBOURS];
bool done;                 /* the put; its handle says so */
bool sent;                 /* that has been seen */
bool locked;               /* the handle */
bool named[NEIGHBOURS];
byte events;               /* what sleepers sleep on */

hidden byte named_once;
hidden byte nothing_left;

proctype network(byte what) {
  if
  :: what < NEIGHBOURS -> arrived[what] = true
  :: else -> done = true
  fi;
  events++
}

inline test() {
  complete = true;
  do
  :: i < NEIGHBOURS && arrived[i] -> i++
  :: i < NEIGHBOURS && !arrived[i] -> complete = false; break
  :: i == NEIGHBOURS -> break
  od;
  i = 0;
  if
  :: complete && !sent ->
#ifdef TRY_LOCK
    atomic { complete = !locked; locked = true };
    if
    :: complete -> sent = done; complete = done; locked = false
    :: else -> skip
    fi
#else
    atomic { !locked; locked = true };
    if
    :: !sent -> atomic { sent = done; complete = done }
    :: else -> skip
    fi;
    locked = false
#endif
  :: else -> skip
  fi
}

inline name() {
  do
  :: i == NEIGHBOURS -> i = 0; break
  :: i < NEIGHBOURS && (!arrived[i] || named[i]) -> i++
  :: i < NEIGHBOURS && arrived[i] && !named[i] ->
    atomic {
      if
#ifndef NAMED_UNSEEN
      :: named[i] -> skip
      :: else ->
#else
      :: true ->
#endif
        named_once = !named[i];
        assert(named_once);
        named[i] = true;
        found = true
      fi;
      i++
    }
  od
}

inline look() {
#ifndef COMPLETE_AFTER_NAMES
  test();
#endif
  name()
#ifdef COMPLETE_AFTER_NAMES
  ; test()
#endif
}

/* Calls wait_some until nothing is left. */
proctype waiter() {
  bool complete, found;
  byte i, seen;
  do
  :: look();
    do
    :: complete || found -> break
    :: else ->
#ifndef COUNT_AFTER_LOOK
      seen = events;
#endif
      look();
      if
      :: complete || found -> skip
      :: else ->
#ifdef COUNT_AFTER_LOOK
        seen = events;
#endif
        events != seen
      fi;
      seen = 0
    od;
    if
    :: found -> d_step { found = false; complete = false }
    :: else ->
      d_step {
        nothing_left = sent;
        do
        :: i == NEIGHBOURS -> break
        :: else -> nothing_left = nothing_left && named[i]; i++
        od;
        assert(nothing_left)
      };
      break
    fi
  od
}

init {
  byte i;
  atomic {
    do
    :: i <= NEIGHBOURS -> run network(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < THREADS -> run waiter(); i++
    :: else -> break
    od
  }
}
