/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signal records on the network: credits, acknowledgement, order with puts (rules 1, 3, 4, 5, 14). Each of
 * the first SENDERS of two ranks sends a put and a signal, SIGNALS times, then quiet: no deadlock, no signal
 * before its data, quiet returns only when all is applied, credits bound what is under way. A channel holds
 * CAPACITY messages, so posts fail and are tried again.
 *
 * Each slot has two channels to each rank. `data` carries what the contract orders: puts, the signals behind
 * them (ordered_signals), and an ack_request behind those. `control` carries credits and acks. A rank that is
 * done progresses still (finalize does).
 *
 * @small SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=2
 * @small SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=1
 * @small SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=2 CAPACITY=2
 * @small SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=6
 * @small SENDERS=1 SLOTS=2 SIGNALS=3 BATCH=1 CAPACITY=2
 * @long  SENDERS=2 SLOTS=2 SIGNALS=2 BATCH=1 CAPACITY=2
 * @long  SENDERS=2 SLOTS=2 SIGNALS=3 BATCH=2 CAPACITY=2
 * @bug SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=2 NO_PROGRESS_WHILE_BLOCKED : no_deadlock
 * @bug SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=1 REPLY_BLOCKS : no_deadlock
 * @bug SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=3 CAPACITY=2 : no_deadlock
 * @bug SENDERS=2 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=6 CREDITS_TWICE : credits_bound
 * @bug SENDERS=1 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=2 REQUEST_OVERTAKES : quiet_means_applied
 * @bug SENDERS=1 SLOTS=1 SIGNALS=4 BATCH=1 CAPACITY=2 ACK_BEFORE_APPLY : quiet_means_applied
 * @bug SENDERS=1 SLOTS=2 SIGNALS=3 BATCH=1 CAPACITY=2 QUIET_ON_ONE_SLOT : quiet_means_applied
 * @bug SENDERS=1 SLOTS=2 SIGNALS=3 BATCH=1 CAPACITY=2 SWITCH_WITHOUT_WAIT : data_before_signal
 */

#define CREDITS 2       /* per slot and peer */

mtype = { put, signal, credit, ack_request, ack };
/* What is under way, by receiving rank and slot. put: its number; signal: the set of puts before it;
 * credit: how many. */
#define TO(rank, s) (2 * (rank) + s)
chan data[4] = [CAPACITY] of { mtype, byte };
chan control[4] = [CAPACITY] of { mtype, byte };

byte placed[2];         /* at a receiving rank: the set of puts visible in its memory */
byte applied[4];        /* at a receiving rank, by slot: number of signals applied */
byte completed[2];      /* at a sending rank: number of puts that its conduit reports as complete */

hidden byte no_deadlock, credits_bound, quiet_means_applied, data_before_signal;        /* no state */
#define CHECK(property, condition) property = (condition); assert(property)

#define BIT(i) (1 << (i))
#define peer (1 - me)

byte step_of[2];        /* where the ranks' programs are */
#define step step_of[me]
#define CHOOSE_FOR_PUT 0
#define PUT 1
#define CHOOSE_FOR_SIGNAL 2
#define SIGNAL 3
#define QUIET 4
#define DONE 5

/* ---- progress: rules 1 and 3 ---- */

/* A call that blocks only progresses; one that does not may progress too. */
#ifdef NO_PROGRESS_WHILE_BLOCKED
#define progresses (step >= QUIET)
#else
#define progresses true
#endif

inline receive_data(s) {
  atomic {
    progresses && nempty(data[TO(me, s)]) ->
    data[TO(me, s)]?kind, value;
    if
    :: kind == put ->
      placed[me] = placed[me] | BIT(value);
      completed[peer]++
    :: kind == signal ->
      CHECK(data_before_signal, (placed[me] & value) == value);
      taken[s]++;
#ifndef ACK_BEFORE_APPLY
      apply(s)
#endif
    :: kind == ack_request ->
      asked[s] = true;
      owe_credit(s)
    fi;
    kind = 0; value = 0
  }
}

/* One signal that was taken from the channel: in the same turn; or, as a bug, later. */
inline apply(s) {
  taken[s]--;
  applied[TO(me, s)]++;
  owe_credit(s)
}

inline owe_credit(s) {
  owed[s]++;
  CHECK(credits_bound, owed[s] <= CREDITS);     /* and so the reply list: rule 3 */
#ifdef REPLY_BLOCKS
  control[TO(peer, s)]!credit, owed[s];
  owed[s] = 0
#endif
}

inline receive_control(s) {
  atomic {
    progresses && nempty(control[TO(me, s)]) ->
    control[TO(me, s)]?kind, value;
    if
    :: kind == credit -> credits[s] = credits[s] + value
    :: kind == ack -> acked[s] = true
#ifdef REQUEST_OVERTAKES
    :: kind == ack_request -> asked[s] = true; owe_credit(s)
#endif
    fi;
    kind = 0; value = 0
  }
}

/* Replies wait (owed, asked) until they can be sent: progress never blocks. */
inline reply_credits(s) {
  atomic {
    progresses && owed[s] >= BATCH && nfull(control[TO(peer, s)]) ->
#ifdef CREDITS_TWICE
    control[TO(peer, s)]!credit, 2 * owed[s];
#else
    control[TO(peer, s)]!credit, owed[s];
#endif
    owed[s] = 0
  }
}

inline reply_ack(s) {
  atomic {
    progresses && asked[s] && nfull(control[TO(peer, s)]) ->
    control[TO(peer, s)]!ack, 0;
    asked[s] = false
  }
}

/* ---- the program of a rank, one step of it ---- */

/* Rule 14: the context stays on its slot, or changes it after waiting for its puts. */
#ifdef SWITCH_WITHOUT_WAIT
#define may_switch (SLOTS == 2)
#else
#define may_switch (SLOTS == 2 && completed[me] == puts)
#endif
inline choose_slot(now, then) {
  atomic {
    step == now ->
    if
    :: true
    :: may_switch -> slot = 1 - slot
    fi;
    step = then
  }
}

inline post_put() {
  atomic {
    step == PUT && nfull(data[TO(peer, slot)]) ->
    data[TO(peer, slot)]!put, puts;
    puts++;
    step = CHOOSE_FOR_SIGNAL
  }
}

/* Rule 4: not without a credit. */
inline post_signal() {
  atomic {
    step == SIGNAL && credits[slot] > 0 && nfull(data[TO(peer, slot)]) ->
    CHECK(credits_bound, sent[slot] - applied[TO(peer, slot)] < CREDITS);
    data[TO(peer, slot)]!signal, BIT(puts) - 1;
    credits[slot]--;
    sent[slot]++;
    step = (puts == SIGNALS -> QUIET : CHOOSE_FOR_PUT)
  }
}

/* Rule 5: on every slot used. */
#ifdef REQUEST_OVERTAKES
#define request control
#else
#define request data
#endif
inline ask(s) {
  atomic {
    step == QUIET && sent[s] > 0 && !requested[s] && credits[s] > 0 && nfull(request[TO(peer, s)]) ->
    request[TO(peer, s)]!ack_request, 0;
    requested[s] = true;
    credits[s]--
  }
}

#ifdef QUIET_ON_ONE_SLOT
#define acknowledged acked[slot]
#else
#define acknowledged ((acked[0] || sent[0] == 0) && (acked[1] || sent[1] == 0))
#endif
inline quiet_returns() {
  atomic {
    step == QUIET && acknowledged ->
    CHECK(quiet_means_applied, applied[TO(peer, 0)] == sent[0] && applied[TO(peer, 1)] == sent[1]);
    step = DONE
  }
}

proctype rank(byte me) {
  byte slot, puts;              /* the context: its slot, the number of its puts */
  byte credits[2] = CREDITS;    /* and what follows: by slot */
  byte sent[2];                 /* signals */
  bool requested[2], acked[2];
  byte taken[2];                /* of the peer: signals not yet applied, credits owed, an ack owed */
  byte owed[2];
  bool asked[2];
  mtype kind;
  byte value;
end:
  do
  :: choose_slot(CHOOSE_FOR_PUT, PUT)
  :: post_put()
  :: choose_slot(CHOOSE_FOR_SIGNAL, SIGNAL)
  :: post_signal()
  :: ask(0)
  :: ask(1)
  :: quiet_returns()
  :: receive_data(0)
  :: receive_data(1)
  :: receive_control(0)
  :: receive_control(1)
  :: reply_credits(0)
  :: reply_credits(1)
  :: reply_ack(0)
  :: reply_ack(1)
#ifdef ACK_BEFORE_APPLY
  :: taken[0] > 0 -> apply(0)
  :: taken[1] > 0 -> apply(1)
#endif
  od
}   /* unreached: a rank progresses to the end */

active proctype observer() {
  timeout -> CHECK(no_deadlock, step_of[0] == DONE && step_of[1] == DONE)
}

init {
  atomic {
    if
    :: SENDERS == 1 -> step_of[1] = DONE
    :: else
    fi;
    run rank(0);
    run rank(1)
  }
}
