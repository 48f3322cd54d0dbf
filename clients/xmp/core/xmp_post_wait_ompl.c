/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directives post and wait. Each rank has a flag for each poster and each tag below OMPL_XMP_TAGS (an environment
 * variable, the same on every rank): a post adds one to it, a wait takes one. Other tags go by a remote call that notes
 * (poster, tag) in a list at the target.
 */
#include <omnipgas/ompl_calls.h>
#include <pthread.h>
#include <stdlib.h>

#include "xmp_ompl.h"

enum { kDefaultTags = 64, kMostTags = 1 << 20, kAny = -1 };

typedef struct {
  int32_t rank;
  int32_t tag;
} Post;

static uint32_t tags;
static uint64_t flags;    /* [rank of the poster][tag], 4 bytes each */
static uint64_t arrivals; /* counts what was noted in the list */
static uint32_t note_function;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* the layer is not called under it */
static Post* list;
static size_t list_length, list_room;

static uint64_t flag_of(int rank, uint32_t tag) { return flags + 4 * ((uint64_t)rank * tags + tag); }

static void append(Post post) {
  pthread_mutex_lock(&list_lock);
  if (list_length == list_room) {
    list_room = list_room == 0 ? 64 : 2 * list_room;
    Post* const larger = realloc(list, list_room * sizeof *list);
    if (larger == NULL) ompl_xmp_fatal("post", "no memory for what others have posted");
    list = larger;
  }
  list[list_length++] = post;
  pthread_mutex_unlock(&list_lock);
}

/* Takes the oldest post of the rank (or of any) with the tag (or any) from the list. */
static bool take(int rank, bool any_tag, int tag) {
  bool found = false;
  pthread_mutex_lock(&list_lock);
  for (size_t i = 0; i < list_length && !found; ++i) {
    if ((rank != kAny && list[i].rank != rank) || (!any_tag && list[i].tag != tag)) continue;
    memmove(list + i, list + i + 1, (list_length - i - 1) * sizeof *list);
    --list_length;
    found = true;
  }
  pthread_mutex_unlock(&list_lock);
  return found;
}

/* Runs at the target of a post. */
static uint64_t note(void* unused, const ompl_call_context* call) {
  (void)unused;
  Post post = {(int32_t)call->source, 0};
  memcpy(&post.tag, call->arguments, sizeof post.tag);
  append(post);
  ompl_ctx_put_word(call->context, (uint32_t)_XMP_world_rank, arrivals, OMPL_FOREVER);
  return 0;
}

OMPL_XMP_API void _xmp_mpi_post_wait_initialize(void) {
  const char* const wanted = getenv("OMPL_XMP_TAGS");
  const long number = wanted == NULL ? kDefaultTags : strtol(wanted, NULL, 10);
  if (number < 1 || number > kMostTags)
    ompl_xmp_fatal("OMPL_XMP_TAGS",
                   "it is no number from 1 to 1048576; it must be the same on every rank");
  tags = (uint32_t)number;
  flags = ompl_xmp_symmetric(4 * (size_t)tags * (size_t)_XMP_world_size, "flags of post and wait");
  arrivals = ompl_xmp_symmetric(4, "flags of post and wait");
  ompl_xmp_check(ompl_call_register("XcalableMP's post", &note, NULL, &note_function), "post and wait");
}

OMPL_XMP_API void _xmp_mpi_post(const int rank, int tag) {
  ompl_xmp_before_signal((uint32_t)rank);
  if ((uint32_t)tag < tags) {
    ompl_xmp_check(ompl_put_word((uint32_t)rank, flag_of(_XMP_world_rank, (uint32_t)tag)), "post");
    return;
  }
  ompl_call_request request = OMPL_CALL_INIT;
  request.function = note_function;
  request.arguments = &tag;
  request.length = sizeof tag;
  ompl_xmp_check(ompl_call(OMPL_CTX_DEFAULT, (uint32_t)rank, &request, NULL, OMPL_FOREVER), "post");
}

/* Waits until one of the flags from `first` on is positive and takes one from it, or until something is noted in the list. */
static bool take_flag(uint64_t first, size_t count, uint32_t seen) {
  ompl_condition* const conditions = _XMP_alloc((count + 1) * sizeof *conditions);
  size_t which = 0;
  for (size_t i = 0; i < count; ++i) conditions[i] = (ompl_condition){first + 4 * i, 0, OMPL_TAKE, 32};
  conditions[count] = (ompl_condition){arrivals, seen, OMPL_NE, 32};
  ompl_xmp_check(ompl_ctx_wait_any(OMPL_CTX_DEFAULT, conditions, count + 1, &which, OMPL_FOREVER),
                 "wait");
  _XMP_free(conditions);
  return which < count;
}

static void wait_for(int rank, bool any_tag, int tag, uint64_t first, size_t count) {
  for (;;) {
    uint32_t seen = 0;
    ompl_xmp_check(ompl_fetch32((uint32_t)_XMP_world_rank, arrivals, &seen),
                   "wait"); /* before the list is searched */
    if (take(rank, any_tag, tag) || take_flag(first, count, seen)) return;
  }
}

/* Within a task (libomnipgas-xmp-tasklet) this wait suspends the task; the other ones hold its thread. */
OMPL_XMP_API void _xmp_mpi_wait(const int rank, const int tag) {
  if ((uint32_t)tag >= tags)
    wait_for(rank, false, tag, 0, 0);
  else if (ompl_xmp_task_wait == NULL || !ompl_xmp_task_wait(flag_of(rank, (uint32_t)tag)))
    ompl_xmp_check(ompl_wait(flag_of(rank, (uint32_t)tag)), "wait");
}

OMPL_XMP_API void _xmp_mpi_wait_node(const int rank) {
  wait_for(rank, true, 0, flag_of(rank, 0), tags);
}

OMPL_XMP_API void _xmp_mpi_wait_noargs(void) {
  wait_for(kAny, true, 0, flag_of(0, 0), (size_t)tags * (size_t)_XMP_world_size);
}
