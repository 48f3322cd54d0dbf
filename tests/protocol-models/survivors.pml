/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a job over a network learn of each other's failures (rules 18, 19, 23; docs/explanation/failures.md). Ranks meet in a
 * barrier, pass a signal to the right and wait for the one from the left, and leave through ompl_finalize, which has a barrier of its
 * own; a rank whose call has failed leaves at once, or first waits until it knows of every rank that was killed. At any moment a
 * rank is killed (KILL) or a connection breaks (CUT). Connections are made by their first message; a break or a death is noticed by
 * those alone that have one, and told on to the neighbours (ranks at distance 1; with more neighbours news only travel faster).
 *
 * Everybody leaves, or the end state is invalid: so collectives fail at every survivor, waits for somebody who has left end,
 * finalize returns, and every survivor learns of a death. Nobody is taken for dead who left in order, nor who lives.
 *
 * @small RANKS=2 KILL CUT
 * @small RANKS=3 KILL
 * @small RANKS=3 CUT
 * @small RANKS=4 KILL ONLY_FINALIZE
 * @small RANKS=4 KILL RING
 * @small RANKS=3 CUT RING
 * @long  RANKS=3 KILL CUT
 * @long  RANKS=4 KILL
 * @bug RANKS=4 KILL NOBODY_TELLS    : invalid end state
 * @bug RANKS=6 KILL RING NOBODY_TELLS_ON : invalid end state
 * @bug RANKS=5 KILL RING LEAVES_NEWS_UNREAD : invalid end state
 * @bug RANKS=4 CUT RING TORN_IS_NO_MATTER : invalid end state
 * @bug RANKS=2 CUT  GOODBYE_EXCUSES : invalid end state
 * @bug RANKS=2 CUT  NOBODY_LOOKS_AT_AWAITED : invalid end state
 * @bug RANKS=3 KILL NO_GOODBYE      : not_taken_for_dead
 */

#if RANKS > 4
#define ROUNDS 3
#elif RANKS > 2
#define ROUNDS 2
#else
#define ROUNDS 1
#endif

#ifndef ONLY_FINALIZE
#define ONLY_FINALIZE 0
#endif
#ifndef RING
#define RING 0          /* ranks meet by two rounds of a ring: more of them have no connection */
#endif

#define BIT(r) (1 << (r))
#define SIGNAL(barrier, round) BIT((barrier) * ROUNDS + (round))
#define PASSED BIT(2 * ROUNDS)

/* Sets of ranks. */
byte killed, gone;      /* by SIGKILL; whose process has ended */
byte departed;          /* left after the last barrier */
byte said_goodbye;      /* closed their endpoints in order; a break is not seen beside that */
byte parting;           /* have come to the last barrier: only then may others leave in order */
byte linked[RANKS];     /* with whom a rank has a connection */
byte broken[RANKS];     /* of these, whose connection was cut */
byte told_dead[RANKS], told_torn[RANKS];        /* records that have arrived */

/* What a rank knows; a rank in `torn` has lost a connection. */
byte dead[RANKS], lost[RANKS], torn[RANKS];

byte flags[RANKS];      /* its flags that are positive */

hidden byte not_taken_for_dead;
#define CHECK(property, condition) property = (condition); assert(property)

#define is_in(r, set) (((set) & BIT(r)) != 0)
#define known(me) (dead[me] | lost[me])
#define world_failed(me) ((known(me) | torn[me]) != 0)

/* A message to a rank whose process has ended makes a connection that is refused. */
inline join(to) {
  linked[me] = linked[me] | BIT(to);    /* unreached: where a torn rank without a connection is told, which takes four ranks */
  linked[to] = linked[to] | BIT(me)
}

inline tell_one(to, r, is_dead) {
  if
  :: to != me && !is_in(to, known(me)) && !is_in(to, broken[me]) ->
    join(to);
    if
    :: is_in(to, gone)
    :: !is_in(to, gone) && is_dead -> told_dead[to] = told_dead[to] | BIT(r)
    :: !is_in(to, gone) && !is_dead -> told_torn[to] = told_torn[to] | BIT(r)
    fi
  :: else
  fi
}

inline tell(r, is_dead) {
#ifndef NOBODY_TELLS
  tell_one((me + 1) % RANKS, r, is_dead);
  tell_one((me + RANKS - 1) % RANKS, r, is_dead)
#else
  skip
#endif
}

/* Breaks and deaths of this rank's own connections. What ends in order is no failure. */
#ifdef NO_GOODBYE
#define closed(me) (linked[me] & gone)
#elif defined(GOODBYE_EXCUSES)
#define closed(me) (linked[me] & gone & ~said_goodbye)
#else
#define closed(me) (linked[me] & ((gone & ~said_goodbye) | (is_in(me, parting) -> 0 : said_goodbye)))
#endif
#define seen_dead(me) (closed(me) & ~dead[me])
#define seen_lost(me) (linked[me] & broken[me] & ~said_goodbye & ~known(me))
#define heard_dead(me) (told_dead[me] & ~dead[me] & ~BIT(me))
#define heard_torn(me) (told_torn[me] & ~torn[me] & ~BIT(me))
#define has_news(me) ((seen_dead(me) | seen_lost(me) | heard_dead(me) | heard_torn(me)) != 0)

/* One of them, in one step. */
inline take_up_news() {
  j = 0;
  do
  :: is_in(j, seen_dead(me) | seen_lost(me) | heard_dead(me) | heard_torn(me)) -> break
  :: else -> j++
  od;
  if
  :: is_in(j, seen_dead(me) | heard_dead(me)) ->
    CHECK(not_taken_for_dead, !is_in(j, departed) && (is_in(j, killed) || is_in(j, said_goodbye)));
    own = is_in(j, seen_dead(me));
    dead[me] = dead[me] | BIT(j);
#ifdef NOBODY_TELLS_ON
    if :: own -> tell(j, true) :: else fi
#else
    tell(j, true)
#endif
  :: !is_in(j, seen_dead(me) | heard_dead(me)) && is_in(j, seen_lost(me)) ->
    lost[me] = lost[me] | BIT(j);
    tell(j, false);
    tell(me, false)
  :: else ->
    torn[me] = torn[me] | BIT(j);
    tell(j, false);
    tell_one(j, j, false)     /* whoever is said to be out of reach may be dead */
  fi;
  own = false;
  j = 0
}

/* Signals of a rank reach the other end while it lives and the connection stands. */
inline send(to, what) {
  atomic {
    if
    :: is_in(me, killed) -> goto ended
    :: is_in(to, broken[me]) || is_in(to, known(me)) -> failed = true
    :: else ->
      join(to);
      if
      :: is_in(to, gone)
      :: else -> flags[to] = flags[to] | (what)
      fi
    fi
  }
}

/* `hopeless` ends it. Whoever waits for long looks whether the rank it waits for has left, and sends it a message: that of one that
 * has died is refused. */
#ifdef NOBODY_ASKS
#define may_ask(r) false
#else
#define may_ask(r) (is_in(r, gone) && !is_in(r, linked[me]))
#endif
#ifdef NOBODY_LOOKS_AT_AWAITED
#define has_left(r) false
#else
#define has_left(r) (is_in(r, linked[me] & said_goodbye & ~dead[me]))
#endif
inline wait(what, from, over) {
  do
  :: atomic { (flags[me] & (what)) != 0 -> flags[me] = flags[me] & ~(what) }; break
  :: atomic { (flags[me] & (what)) == 0 && (over) -> failed = true }; break
  :: atomic { has_news(me) -> take_up_news() }
  :: is_in(me, killed) -> goto ended
  :: atomic { (flags[me] & (what)) == 0 && may_ask(from) -> join(from) }
  :: atomic {
      (flags[me] & (what)) == 0 && has_left(from) ->
      CHECK(not_taken_for_dead, !is_in(from, departed));
      dead[me] = dead[me] | BIT(from);
      tell(from, true)
    }
  od
}

inline wait_for_anybody(what) {
  do
  :: atomic { (flags[me] & (what)) != 0 -> flags[me] = flags[me] & ~(what) }; break
  :: atomic { (flags[me] & (what)) == 0 && known(me) != 0 -> failed = true }; break
  :: atomic { has_news(me) -> take_up_news() }
  :: is_in(me, killed) -> goto ended
  od
}

#ifdef TORN_IS_NO_MATTER
#define hopeless(me) (known(me) != 0)
#else
#define hopeless(me) world_failed(me)
#endif
#define LEFT(distance) ((me + RANKS - (distance)) % RANKS)
#define RIGHT(distance) ((me + (distance)) % RANKS)

inline barrier(number) {
  round = 0;
  do
  :: round == ROUNDS || failed -> break
  :: round < ROUNDS && !failed && !RING ->
    send(RIGHT(1 << round), SIGNAL(number, round));
    wait(SIGNAL(number, round), LEFT(1 << round), hopeless(me));
    round++
  :: round < ROUNDS && !failed && RING && me == 0 ->
    send(RIGHT(1), SIGNAL(number, round));
    wait(SIGNAL(number, round), LEFT(1), hopeless(me));
    round++
  :: round < ROUNDS && !failed && RING && me != 0 ->
    wait(SIGNAL(number, round), LEFT(1), hopeless(me));
    if
    :: !failed -> send(RIGHT(1), SIGNAL(number, round))
    :: failed
    fi;
    round++
  od;
  round = 0
}

/* Whoever leaves after an error keeps its promises to nobody: it says so, as one who dies would be said to. */
inline last_word() {
#ifdef LAST_WORD_IS_TORN
  tell(me, false)
#elif defined(NO_LAST_WORD)
  skip
#else
  tell(me, true)
#endif
}

proctype rank(byte me) {
  byte round, j;
  bool failed, own;
  if
  :: ONLY_FINALIZE
  :: !ONLY_FINALIZE ->
    barrier(0);
    if
    :: !failed ->
      send((me + 1) % RANKS, PASSED);
      wait_for_anybody(PASSED)
    :: else
    fi
  fi;
  if
  :: failed ->                          /* stays until it has learnt of every death */
    do
    :: (killed & gone & ~said_goodbye & ~dead[me]) == 0 -> break
    :: atomic { has_news(me) -> take_up_news() }
    :: is_in(me, killed) -> goto ended
    od
  :: failed && me < 2 ->                /* goes on with the other one until the rest have left; owes nobody */
    send(RIGHT(1), PASSED);
    do
    :: (gone | 3) == (1 << RANKS) - 1 -> break
    :: atomic { has_news(me) -> take_up_news() }
    :: is_in(me, killed) -> goto ended
    od
  :: failed                             /* leaves at once */
  :: !failed
  fi;
  if
  :: atomic { !failed && !world_failed(me) -> parting = parting | BIT(me) };
    barrier(1)
  :: else -> failed = true
  fi;
  atomic {
    if
    :: is_in(me, killed)
    :: else ->
      if
      :: !failed -> departed = departed | BIT(me)
      :: else ->
        do                      /* nobody else may be left to tell of what has come here */
#ifndef LEAVES_NEWS_UNREAD
        :: has_news(me) -> take_up_news()
#endif
        :: else -> break
        od;
        last_word()
      fi;
      said_goodbye = said_goodbye | BIT(me)
    fi
  };
ended:
  atomic {
#ifdef DEATH_AT_ITS_END_IS_NONE
    said_goodbye = said_goodbye | BIT(me);
#endif
    gone = gone | BIT(me)
  }
}

proctype killer() {
  byte r;
  if
  :: r = 0
  :: r = RANKS - 1
  fi;
  killed = killed | BIT(r)
}

proctype cutter() {
end:
  atomic { is_in(1, linked[0]) -> broken[0] = broken[0] | BIT(1); broken[1] = broken[1] | BIT(0) }
}

init {
  byte i;
  atomic {
    do
    :: i == RANKS -> break
    :: else -> run rank(i); i++
    od;
#ifdef KILL
    run killer();
#endif
#ifdef CUT
    run cutter();
#endif
    i = 0
  }
}
