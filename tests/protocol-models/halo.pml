/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The halo exchange (docs/explanation/halo.md) by its three strategies: double buffer (0), single (1), acked (2). Every rank is everybody's
 * neighbour; data go everywhere (UPWARDS=0) or to higher ranks only (UPWARDS=1). Data land at any moment between their
 * put and their signal; signals are not ordered among themselves; a rank may be late with anything. Who reads finds the data of the exchange it is in;
 * nobody sends an exchange to a rank that has not begun the one before (`single`: this one; `acked`: the first two fill empty slots); everybody gets through (or the end state is invalid).
 *
 * @small STRATEGY=0 RANKS=2 EXCHANGES=5 UPWARDS=0
 * @small STRATEGY=0 RANKS=2 EXCHANGES=5 UPWARDS=1
 * @small STRATEGY=0 RANKS=3 EXCHANGES=3 UPWARDS=1
 * @small STRATEGY=1 RANKS=2 EXCHANGES=4 UPWARDS=0
 * @small STRATEGY=1 RANKS=3 EXCHANGES=2 UPWARDS=1
 * @small STRATEGY=2 RANKS=2 EXCHANGES=5 UPWARDS=0
 * @small STRATEGY=2 RANKS=2 EXCHANGES=5 UPWARDS=1
 * @small STRATEGY=2 RANKS=3 EXCHANGES=3 UPWARDS=1
 * @long  STRATEGY=0 RANKS=3 EXCHANGES=3 UPWARDS=0
 * @long  STRATEGY=1 RANKS=3 EXCHANGES=3 UPWARDS=1
 * @long  STRATEGY=2 RANKS=3 EXCHANGES=4 UPWARDS=1
 * @bug STRATEGY=0 RANKS=2 EXCHANGES=3 UPWARDS=0 SLOTS=1 : reads_its_exchange
 * @bug STRATEGY=0 RANKS=2 EXCHANGES=4 UPWARDS=1 NOT_SYMMETRISED : slip_of_one
 * @bug STRATEGY=0 RANKS=3 EXCHANGES=3 UPWARDS=1 NOT_SYMMETRISED : slip_of_one
 * @bug STRATEGY=0 RANKS=2 EXCHANGES=3 UPWARDS=0 ONE_FLAG : reads_its_exchange
 * @bug STRATEGY=0 RANKS=2 EXCHANGES=1 UPWARDS=0 SIGNAL_OVERTAKES : reads_its_exchange
 * @bug STRATEGY=1 RANKS=2 EXCHANGES=2 UPWARDS=0 NOT_READY : slip_of_one
 * @bug STRATEGY=1 RANKS=2 EXCHANGES=2 UPWARDS=0 NO_RESET : reads_its_exchange
 * @bug STRATEGY=1 RANKS=2 EXCHANGES=2 UPWARDS=0 RESET_AFTER_READY : invalid end state
 * @bug STRATEGY=1 RANKS=2 EXCHANGES=1 UPWARDS=0 READY_LATE : invalid end state
 * @bug STRATEGY=2 RANKS=2 EXCHANGES=4 UPWARDS=1 NOT_FREED : slip_of_one
 * @bug STRATEGY=2 RANKS=2 EXCHANGES=3 UPWARDS=1 FREED_UNREAD : slip_of_one
 */

#define DOUBLE_BUFFER (STRATEGY == 0)
#define SINGLE        (STRATEGY == 1)
#define ACKED         (STRATEGY == 2)
#ifndef SLOTS
#define SLOTS (SINGLE -> 1 : 2)
#endif
#ifdef ONE_FLAG
#define FLAGS 1
#else
#define FLAGS SLOTS
#endif

#define PAIR(from, to)   ((from) * RANKS + (to))
#define SLOT(pair, n)    ((pair) * 2 + ((n) - 1) % SLOTS)
#define FLAG(pair, n)    ((pair) * 2 + ((n) - 1) % FLAGS)
#define TURN(n)          (((n) - 1) / FLAGS + 1)
#define MESSAGE(pair, n) ((pair) * EXCHANGES + (n) - 1)
#define DATA(from, to)   (!UPWARDS || (from) < (to))
#ifdef NOT_SYMMETRISED
#define MARKED(from, to) DATA(from, to)
#else
#define MARKED(from, to) (DOUBLE_BUFFER || DATA(from, to))
#endif

bool sent[RANKS * RANKS * EXCHANGES];      /* the put of each message, data and signal */
bool told[RANKS * RANKS * EXCHANGES];      /* "ready for n" or "n is freed", from the pair's receiver */
byte landing[RANKS * RANKS * 2];           /* per slot: of which exchange the data are */
byte arrived[RANKS * RANKS * 2];           /* flags at the receiver, */
byte freed[RANKS * RANKS * 2];             /* and at the sender */
byte begun[RANKS];                         /* exchanges that a rank has begun */

hidden byte reads_its_exchange;
hidden byte slip_of_one;

inline land()  { landing[SLOT(pair, n)] = n }
inline raise() {
  d_step {
    if
    :: SINGLE -> arrived[FLAG(pair, n)] = 1
    :: else -> arrived[FLAG(pair, n)]++
    fi
  }
}

proctype message(byte pair, n) {
end:
  sent[MESSAGE(pair, n)];
#ifdef SIGNAL_OVERTAKES
  raise();
  land()
#else
  land();
  raise()
#endif
}

proctype word_back(byte pair, n) {
end:
  told[MESSAGE(pair, n)];
  freed[FLAG(pair, n)]++
}

inline reset() { arrived[FLAG(PAIR(other, me), n)] = 0 }

inline announce() {
  if
  :: SINGLE && DATA(other, me) ->
#if !defined(NO_RESET) && !defined(RESET_AFTER_READY)
    reset();
#endif
    told[MESSAGE(PAIR(other, me), n)] = true;
#ifdef RESET_AFTER_READY
    reset()
#endif
  :: ACKED && DATA(other, me) && n > 1 -> told[MESSAGE(PAIR(other, me), n - 1)] = true
  :: else -> skip
  fi
}

inline send() {
  if
  :: MARKED(me, other) ->
#ifndef NOT_READY
    !SINGLE || freed[FLAG(PAIR(me, other), n)] >= n;
#endif
#ifndef NOT_FREED
    !ACKED || freed[FLAG(PAIR(me, other), n)] >= TURN(n) - 1;
#endif
    d_step {
      slip_of_one = (SINGLE -> begun[other] >= n : begun[other] + 1 >= n || (ACKED && n <= 2));
      assert(slip_of_one);
      sent[MESSAGE(PAIR(me, other), n)] = true
    }
  :: else -> skip
  fi
}

inline await() {
  if
  :: MARKED(other, me) -> arrived[FLAG(PAIR(other, me), n)] >= (SINGLE -> 1 : TURN(n))
  :: else -> skip
  fi
}

inline read() {
  if
  :: DATA(other, me) ->
    d_step {
      reads_its_exchange = landing[SLOT(PAIR(other, me), n)] == n;
      assert(reads_its_exchange)
    }
  :: else -> skip
  fi
}

/* Does `step` for each neighbour. */
#define EACH(step)                            \
  other = 0;                                  \
  do                                          \
  :: other == RANKS -> other = 0; break       \
  :: other == me -> other++                   \
  :: other < RANKS && other != me -> step; other++ \
  od

proctype rank(byte me) {
  byte n = 1, other;
  do
  :: n > EXCHANGES -> break
  :: else ->
    begun[me] = n;
#ifndef READY_LATE
    EACH(announce());
#endif
    EACH(send());
#ifdef READY_LATE
    EACH(announce());
#endif
    EACH(await());
#ifdef FREED_UNREAD
    n++; EACH(announce()); n--;
#endif
    EACH(read());
    n++
  od
}

init {
  byte from, to, n;
  atomic {
    do
    :: from == RANKS -> break
    :: from < RANKS && to == RANKS -> from++; to = 0
    :: from < RANKS && to < RANKS && (from == to || n == EXCHANGES) -> to++; n = 0
    :: else ->
      n++;
      run message(PAIR(from, to), n);
      run word_back(PAIR(from, to), n)
    od;
    n = 0;
    do
    :: n == RANKS -> break
    :: else -> run rank(n); n++
    od
  }
}
