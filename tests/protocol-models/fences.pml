/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fences of rule 25 on weakly ordered memory, as aarch64 has it: what a thread did before flush, quiet, the completion of a
 * handle or a fetch is done for all before the thread's later loads.
 *
 * Memory is multi-copy atomic: one value for all. What a thread has begun and not performed yet, at most two accesses, is performed
 * in any order, but for two of one word. So loads and stores overtake loads and stores; x86-64 lets only a load overtake a store.
 *
 * Two programs run the litmus tests of tests/conformance/litmus.hpp: an access, what orders it, another access.
 * SHAPE=1: SB, 2: MP, 3: LB, 4: S, 5: R, 6: 2+2W. ORDER=1: flush, quiet, a handle's completion; or a fence and then a fetch as
 * the second access. 2: a fetch of a third word between the two. 3: a fetch-add of it by an exclusive pair, whose store nobody
 * reads and the model leaves out. 4: the second access of the first program is a signal, the first of the second a wait or poll.
 *
 * @small SHAPE=1 ORDER=1
 * @small SHAPE=1 ORDER=2
 * @small SHAPE=1 ORDER=3
 * @small SHAPE=2 ORDER=1
 * @small SHAPE=2 ORDER=2
 * @small SHAPE=2 ORDER=4
 * @small SHAPE=3 ORDER=1
 * @small SHAPE=4 ORDER=1
 * @small SHAPE=5 ORDER=1
 * @small SHAPE=5 ORDER=3
 * @small SHAPE=6 ORDER=1
 * @bug SHAPE=1 ORDER=1 NO_FENCE : never_seen
 * @bug SHAPE=1 ORDER=1 LOAD_FENCE : never_seen
 * @bug SHAPE=1 ORDER=1 STORE_FENCE : never_seen
 * @bug SHAPE=1 ORDER=1 SIGNAL_FOR_FENCE : never_seen
 * @bug SHAPE=1 ORDER=2 NO_FENCE : never_seen
 * @bug SHAPE=1 ORDER=2 FENCE_AFTER_LOADS_ONLY : never_seen
 * @bug SHAPE=1 ORDER=3 NO_FENCE : never_seen
 * @bug SHAPE=2 ORDER=1 NO_FENCE : never_seen
 * @bug SHAPE=2 ORDER=4 RELAXED_SIGNAL : never_seen
 * @bug SHAPE=2 ORDER=4 RELAXED_WAIT : never_seen
 * @bug SHAPE=3 ORDER=1 NO_FENCE : never_seen
 * @bug SHAPE=4 ORDER=1 NO_FENCE : never_seen
 * @bug SHAPE=5 ORDER=1 NO_FENCE : never_seen
 * @bug SHAPE=5 ORDER=1 STORE_FENCE : never_seen
 * @bug SHAPE=5 ORDER=3 NO_FENCE : never_seen
 * @bug SHAPE=6 ORDER=1 NO_FENCE : never_seen
 */

#define X 0
#define Y 1
#define SPARE 2         /* read by the fetch between two accesses */
byte memory[3];
byte seen[2];           /* what the gets read */
hidden byte never_seen; /* `hidden`: no part of the state */

#define NONE 0
#define STORE 1
#define LOAD 2

/* What a thread has begun: OLDER before YOUNGER. `value`: of a store; of a load, where in `seen` it goes. */
typedef Access { byte kind, word, value };
typedef Thread { Access begun[2] };
Thread threads[2];
#define OLDER threads[me].begun[0]
#define YOUNGER threads[me].begun[1]
#define no_store_begun (OLDER.kind != STORE && YOUNGER.kind != STORE)
#define no_load_begun (OLDER.kind != LOAD && YOUNGER.kind != LOAD)

/* ---- the core: performs what was begun, in any order that the words allow ---- */

inline perform(access) {
  if
  :: access.kind == STORE -> memory[access.word] = access.value
  :: access.kind == LOAD && access.word != SPARE -> seen[access.value] = memory[access.word]
  :: else
  fi;
  access.kind = NONE; access.word = 0; access.value = 0
}

proctype core(byte me) {
end:
  do
  :: d_step { OLDER.kind != NONE -> perform(OLDER) }
  :: d_step { YOUNGER.kind != NONE && (OLDER.kind == NONE || OLDER.word != YOUNGER.word) -> perform(YOUNGER) }
  od
}       /* unreached: a core never ends */

/* A younger access that outlived the older one is the older one now. */
inline begin_access(k, w, v) {
  d_step {
    (OLDER.kind == NONE || YOUNGER.kind == NONE) ->
    if
    :: OLDER.kind == NONE && YOUNGER.kind != NONE ->
      OLDER.kind = YOUNGER.kind; OLDER.word = YOUNGER.word; OLDER.value = YOUNGER.value;
      YOUNGER.kind = k; YOUNGER.word = w; YOUNGER.value = v
    :: OLDER.kind == NONE && YOUNGER.kind == NONE -> OLDER.kind = k; OLDER.word = w; OLDER.value = v
    :: else -> YOUNGER.kind = k; YOUNGER.word = w; YOUNGER.value = v
    fi
  }
}

/* ---- what the library uses ---- */

inline full_fence() {
#if defined(NO_FENCE)
  skip
#elif defined(LOAD_FENCE)
  no_load_begun                         /* DMB ISHLD */
#elif defined(STORE_FENCE)
  no_store_begun || next != STORE       /* DMB ISHST: stores before stores */
#elif defined(SIGNAL_FOR_FENCE)
  (no_store_begun && no_load_begun) || next != STORE    /* a release orders what comes before it, and itself only */
#else
  no_store_begun && no_load_begun       /* DMB ISH */
#endif
}

inline fetch_spare() {
#ifdef FENCE_AFTER_LOADS_ONLY
  no_load_begun;
#else
  full_fence();
#endif
  begin_access(LOAD, SPARE, 0);
  no_load_begun                         /* an acquire */
}

/* The load is an acquire. It does not wait for earlier stores, which only the pair's own store does. */
inline fetch_add_spare() {
  full_fence();
  begin_access(LOAD, SPARE, 0);
  no_load_begun
}

inline release() {
#ifdef RELAXED_SIGNAL
  skip
#else
  no_store_begun && no_load_begun
#endif
}

inline acquire() {
#ifdef RELAXED_WAIT
  skip
#else
  no_load_begun
#endif
}

#define FULL 1
#define FETCH 2
#define FETCH_ADD 3
#define RELEASE 4
#define ACQUIRE 5

proctype program(byte me, kind, word, value, order, next, next_word, next_value) {
  begin_access(kind, word, value);
  if
  :: order == FULL -> full_fence()
  :: order == FETCH -> fetch_spare()
  :: order == FETCH_ADD -> fetch_add_spare()
  :: order == RELEASE -> release()
  :: order == ACQUIRE -> acquire()
  fi;
  begin_access(next, next_word, next_value)
}

/* ---- the litmus tests ---- */

#if SHAPE == 1          /* SB */
#define outcome (seen[0] == 0 && seen[1] == 0)
#elif SHAPE == 2        /* MP */
#define outcome (seen[0] == 1 && seen[1] == 0)
#elif SHAPE == 3        /* LB */
#define outcome (seen[0] == 1 && seen[1] == 1)
#elif SHAPE == 4        /* S */
#define outcome (seen[0] == 1 && memory[X] == 2)
#elif SHAPE == 5        /* R */
#define outcome (seen[0] == 0 && memory[Y] == 2)
#elif SHAPE == 6        /* 2+2W */
#define outcome (memory[X] == 1 && memory[Y] == 1)
#endif

#if ORDER == 4
#define FIRST RELEASE
#define SECOND ACQUIRE
#else
#define FIRST ORDER
#define SECOND ORDER
#endif

/* Nothing moves any more: all is performed. */
active proctype observer() {
  timeout ->
    never_seen = !outcome;
    assert(never_seen)
}

init {
  atomic {
    run core(0);
    run core(1);
#if SHAPE == 1
    run program(0, STORE, X, 1, FIRST, LOAD, Y, 0);
    run program(1, STORE, Y, 1, SECOND, LOAD, X, 1)
#elif SHAPE == 2
    run program(0, STORE, X, 1, FIRST, STORE, Y, 1);
    run program(1, LOAD, Y, 0, SECOND, LOAD, X, 1)
#elif SHAPE == 3
    run program(0, LOAD, X, 0, FIRST, STORE, Y, 1);
    run program(1, LOAD, Y, 1, SECOND, STORE, X, 1)
#elif SHAPE == 4
    run program(0, STORE, X, 2, FIRST, STORE, Y, 1);
    run program(1, LOAD, Y, 0, SECOND, STORE, X, 1)
#elif SHAPE == 5
    run program(0, STORE, X, 1, FIRST, STORE, Y, 1);
    run program(1, STORE, Y, 2, SECOND, LOAD, X, 0)
#elif SHAPE == 6
    run program(0, STORE, X, 1, FIRST, STORE, Y, 2);
    run program(1, STORE, Y, 1, SECOND, STORE, X, 2)
#endif
  }
}
