/* SPDX-License-Identifier: BSD-3-Clause
 * Messages in every way there is, between two ranks of a pair; each takes both parts. */
#include "expect.h"

enum { kLong = 100000 };
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static double out[kLong], in[4][kLong];
static int peer, next_request;

static void blocking_sends(void) {
  static char attached[kLong + MPI_BSEND_OVERHEAD];
  void* detached;
  int size;
  MPI_Send(out, 10, MPI_INT, peer, 1, WORLD);
  expect_message("Send", peer, 1, 40, "");
  MPI_Ssend(out, kLong, MPI_DOUBLE, peer, 2, WORLD);
  expect_message("Ssend", peer, 2, 8L * kLong, "");
  MPI_Buffer_attach(attached, sizeof attached);
  MPI_Bsend(out, 100, MPI_CHAR, peer, 3, WORLD);
  expect_message("Bsend", peer, 3, 100, "");
  MPI_Buffer_detach(&detached, &size);
  expect("Opaque", "\"name\": \"MPI_Buffer_detach\"");
  MPI_Recv(in, 1, MPI_CHAR, peer, 4, WORLD, IGNORE);
  expect_message("Recv", peer, 4, 0, "");
  MPI_Rsend(out, 1, MPI_SHORT, peer, 5, WORLD);
  expect_message("Rsend", peer, 5, 2, "");
  MPI_Send(out, 7, MPI_CHAR, MPI_PROC_NULL, 6, WORLD);
  expect_message("Send", -2, 6, 7, "");
}

static void blocking_receives(void) {
  MPI_Status status;
  MPI_Request ready;
  MPI_Recv(in, 20, MPI_INT, peer, 1, WORLD, &status); /* room for more than comes */
  expect_message("Recv", peer, 1, 40, "");
  MPI_Recv(in, kLong, MPI_DOUBLE, MPI_ANY_SOURCE, 2, WORLD, &status);
  expect_message("Recv", peer, 2, 8L * kLong, "\"any_source\"");
  MPI_Recv(in, 100, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, IGNORE);
  expect_message("Recv", peer, 3, 100, "\"any_source\", \"any_tag\"");
  MPI_Irecv(in, 1, MPI_SHORT, peer, 5, WORLD, &ready);
  expect_post("Irecv", peer, 5, 2, ++next_request, "");
  MPI_Send(out, 0, MPI_CHAR, peer, 4, WORLD);
  expect_message("Send", peer, 4, 0, "");
  MPI_Wait(&ready, IGNORE);
  expect("Wait",
         "\"completes\": [%d], \"peer\": %d, \"tag\": 5, \"bytes\": 2, \"flags\": [\"completed\"]",
         next_request, peer);
  MPI_Wait(&ready, IGNORE); /* null by now */
  expect("Wait", "\"completes\": [], \"peer\": -3");
  MPI_Recv(in, 1, MPI_CHAR, MPI_PROC_NULL, 6, WORLD, IGNORE);
  expect_message("Recv", -2, -1, 0, "");
}

static void both_at_once(void) {
  MPI_Sendrecv(out, 5, MPI_INT, peer, 10, in, 50, MPI_INT, MPI_ANY_SOURCE, 10, WORLD, IGNORE);
  expect("Sendrecv",
         "\"peer\": %d, \"tag\": 10, \"bytes\": 20, \"comm\": 1, \"matches\": [{\"peer\": %d, \"tag\": "
         "10, "
         "\"bytes\": 20, \"flags\": [\"any_source\"]}]",
         peer, peer);
  MPI_Sendrecv_replace(in, 3, MPI_DOUBLE, peer, 11, peer, MPI_ANY_TAG, WORLD, IGNORE);
  expect("SendrecvReplace",
         "\"peer\": %d, \"tag\": 11, \"bytes\": 24, \"matches\": [{\"peer\": %d, \"tag\": 11, "
         "\"bytes\": 24, \"flags\": [\"any_tag\"]}]",
         peer, peer);
}

/* The other part of probing() and completions(). */
static void feed(int first, int last) {
  for (int tag = first; tag <= last; ++tag) {
    MPI_Ssend(out, tag, MPI_CHAR, peer, tag, WORLD);
    expect_message("Ssend", peer, tag, tag, "");
  }
}

static void probing(void) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag = 0;
  MPI_Iprobe(peer, 999, WORLD, &flag, IGNORE);
  expect_message("Iprobe", peer, 999, 0, "");
  MPI_Probe(MPI_ANY_SOURCE, 20, WORLD, &status);
  expect_message("Probe", peer, 20, 20, "\"any_source\"");
  MPI_Recv(in, 20, MPI_CHAR, peer, 20, WORLD, IGNORE);
  expect_message("Recv", peer, 20, 20, "");
  MPI_Mprobe(peer, MPI_ANY_TAG, WORLD, &message, &status);
  expect_message("Mprobe", peer, 21, 21, "\"any_tag\"");
  MPI_Mrecv(in, 30, MPI_CHAR, &message, IGNORE);
  expect_message("Mrecv", peer, 21, 21, "\"any_tag\"");
  for (flag = 0; !flag;) {
    MPI_Improbe(peer, 22, WORLD, &flag, &message, &status);
    expect_message("Improbe", peer, 22, flag ? 22 : 0, flag ? "\"completed\"" : "");
  }
  MPI_Imrecv(in, 22, MPI_CHAR, &message, &request);
  expect_post("Imrecv", peer, 22, 22, ++next_request, "");
  MPI_Wait(&request, &status);
  expect("Wait", "\"completes\": [%d], \"peer\": %d, \"tag\": 22, \"bytes\": 22", next_request, peer);
}

/* Nonblocking sends of each mode with their receives, all completed at once. */
static void nonblocking(void) {
  static char attached[kLong + MPI_BSEND_OVERHEAD];
  void* detached;
  MPI_Request requests[8];
  const int first = next_request + 1;
  int size;
  MPI_Buffer_attach(attached, sizeof attached);
  for (int i = 0; i < 4; ++i) {
    MPI_Irecv(in[i], kLong, MPI_DOUBLE, i == 1 ? MPI_ANY_SOURCE : peer, 30 + i, WORLD, &requests[i]);
    expect_post("Irecv", i == 1 ? -1 : peer, 30 + i, 8L * kLong, ++next_request,
                i == 1 ? "\"any_source\"" : "");
  }
  MPI_Barrier(WORLD);
  expect("Barrier", "\"comm\": 1, \"bytes\": 0");
  MPI_Isend(out, kLong, MPI_DOUBLE, peer, 30, WORLD, &requests[4]);
  expect_post("Isend", peer, 30, 8L * kLong, ++next_request, "");
  MPI_Issend(out, kLong, MPI_DOUBLE, peer, 31, WORLD, &requests[5]);
  expect_post("Issend", peer, 31, 8L * kLong, ++next_request, "");
  MPI_Ibsend(out, 5, MPI_DOUBLE, peer, 32, WORLD, &requests[6]);
  expect_post("Ibsend", peer, 32, 40, ++next_request, "");
  MPI_Irsend(out, 6, MPI_DOUBLE, peer, 33, WORLD, &requests[7]);
  expect_post("Irsend", peer, 33, 48, ++next_request, "");
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  expect("Waitall",
         "\"bytes\": 8, \"flags\": [\"completed\", \"several\"], \"completes\": [%d, %d, %d, %d, %d, "
         "%d, %d, %d], "
         "\"matches\": [{\"posted\": %d, \"peer\": %d, \"tag\": 31, \"bytes\": %ld}, {\"posted\": %d, "
         "\"peer\": %d, \"tag\": 32, "
         "\"bytes\": 40}, {\"posted\": %d, \"peer\": %d, \"tag\": 33, \"bytes\": 48}]",
         first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7, first + 1,
         peer, 8L * kLong, first + 2, peer, first + 3, peer);
  MPI_Buffer_detach(&detached, &size);
  expect("Opaque", "\"name\": \"MPI_Buffer_detach\"");
}

/* Nothing comes from MPI_PROC_NULL, so that no record need say what came. */
static void nobody(void) {
  MPI_Request requests[2];
  MPI_Irecv(in, kLong, MPI_DOUBLE, MPI_PROC_NULL, 38, WORLD, &requests[0]);
  expect_post("Irecv", -2, 38, 8L * kLong, ++next_request, "");
  MPI_Isend(out, 3, MPI_DOUBLE, MPI_PROC_NULL, 39, WORLD, &requests[1]);
  expect_post("Isend", -2, 39, 24, ++next_request, "");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect("Waitall", "\"completes\": [%d, %d], \"matches\": []", next_request - 1, next_request);
}

/* Many small sends, which MPI ends at once and may give one handle, completed in another order than they were posted. */
static void small_sends(void) {
  MPI_Request requests[6];
  const int first = next_request + 1;
  for (int i = 0; i < 6; ++i) {
    MPI_Isend(out, i, MPI_INT, peer, 40 + i, WORLD, &requests[i]);
    expect_post("Isend", peer, 40 + i, 4L * i, ++next_request, "");
  }
  for (int i = 0; i < 6; ++i) {
    MPI_Recv(in, kLong, MPI_INT, peer, 40 + i, WORLD, IGNORE);
    expect_message("Recv", peer, 40 + i, 4L * i, "");
  }
  for (int i = 5; i >= 0; --i) {
    MPI_Wait(&requests[i], IGNORE);
    expect("Wait", "\"completes\": [%d], \"peer\": -3, \"bytes\": 0", first + i);
  }
}

static void completions(void) {
  MPI_Request requests[6];
  MPI_Status statuses[6];
  int indices[6], flag, index, count;
  const int first = next_request + 1;
  for (int i = 0; i < 6; ++i) {
    MPI_Irecv(in[0], 1000, MPI_CHAR, peer, 50 + i, WORLD, &requests[i]);
    expect_post("Irecv", peer, 50 + i, 1000, ++next_request, "");
  }
  MPI_Send(out, 0, MPI_CHAR, peer, 49, WORLD);
  expect_message("Send", peer, 49, 0, "");
  MPI_Waitany(6, requests, &index, IGNORE); /* the messages come one after the other */
  expect("Waitany",
         "\"completes\": [%d], \"peer\": %d, \"tag\": %d, \"bytes\": %d, \"flags\": [\"completed\"]",
         first + index, peer, 50 + index, 50 + index);
  for (flag = 0; !flag;) {
    MPI_Testany(6, requests, &index, &flag, &statuses[0]);
    if (flag)
      expect("Testany", "\"completes\": [%d], \"tag\": %d, \"bytes\": %d, \"flags\": [\"completed\"]",
             first + index, 50 + index, 50 + index);
    if (!flag) expect("Testany", "\"completes\": [], \"flags\": []");
  }
  for (int done = 2; done < 4; done += count) {
    MPI_Waitsome(6, requests, &count, indices, MPI_STATUSES_IGNORE);
    expect("Waitsome", "\"count\": %d, \"includes\": %d", count, first + indices[0]);
  }
  for (count = 0; count == 0;) {
    MPI_Testsome(6, requests, &count, indices, statuses);
    if (count == MPI_UNDEFINED) count = -1;
    expect("Testsome", "\"count\": %d", count > 0 ? count : 0);
  }
  for (flag = 0; !flag;) {
    MPI_Testall(6, requests, &flag, statuses);
    expect("Testall", "\"flags_include\": %s", flag ? "true" : "false");
  }
  MPI_Isend(out, 1, MPI_CHAR, peer, 60, WORLD, &requests[0]);
  expect_post("Isend", peer, 60, 1, ++next_request, "");
  for (flag = 0; !flag;) {
    MPI_Test(&requests[0], &flag, IGNORE);
    if (flag) expect("Test", "\"completes\": [%d], \"flags\": [\"completed\"]", next_request);
    if (!flag) expect("Test", "\"completes\": [], \"flags\": []");
  }
}

static void persistent(void) {
  MPI_Request requests[2];
  const int send = ++next_request, receive = ++next_request;
  MPI_Send_init(out, 11, MPI_INT, peer, 70, WORLD, &requests[0]);
  expect_post("SendInit", peer, 70, 44, send, "");
  MPI_Recv_init(in, 12, MPI_INT, MPI_ANY_SOURCE, 70, WORLD, &requests[1]);
  expect_post("RecvInit", -1, 70, 48, receive, "\"any_source\"");
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, requests);
    expect("Startall", "\"starts\": [%d, %d]", send, receive);
    MPI_Wait(&requests[1], IGNORE);
    expect("Wait", "\"completes\": [%d], \"peer\": %d, \"bytes\": 44", receive, peer);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* one of them is inactive */
    expect("Waitall", "\"count\": 2, \"includes\": %d", send);
  }
  MPI_Start(&requests[1]);
  expect("Start", "\"starts\": [%d]", receive);
  MPI_Cancel(&requests[1]);
  expect("Cancel", "\"starts\": [%d]", receive);
  MPI_Wait(&requests[1], IGNORE);
  expect("Wait", "\"completes\": [%d], \"flags\": [\"any_source\", \"completed\", \"cancelled\"]",
         receive);
  MPI_Request_free(&requests[0]);
  expect("RequestFree", "\"starts\": [%d]", send);
  MPI_Request_free(&requests[1]);
  expect("RequestFree", "\"starts\": [%d]", receive);
}

static void datatypes(void) {
  MPI_Datatype column, pair;
  MPI_Type_vector(10, 1, 100, MPI_DOUBLE, &column); /* 80 bytes, spread over 7208 */
  MPI_Type_commit(&column);
  MPI_Type_contiguous(3, column, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(out, 2, column, peer, 80, in, 20, MPI_DOUBLE, peer, 80, WORLD, IGNORE);
  expect("Sendrecv", "\"bytes\": 160, \"matches\": [{\"peer\": %d, \"bytes\": 160}]", peer);
  MPI_Sendrecv(out, 1, pair, peer, 81, in, 1, pair, peer, 81, WORLD, IGNORE);
  expect("Sendrecv", "\"bytes\": 240, \"matches\": [{\"peer\": %d, \"bytes\": 240}]", peer);
  MPI_Type_free(&pair);
  MPI_Type_free(&column);
}

/* What came with MPI 4. */
static void newest(void) {
#if MPI_VERSION >= 4
  MPI_Request request, parts[2];
  MPI_Sendrecv_c(out, 5, MPI_INT, peer, 90, in, 50, MPI_INT, peer, 90, WORLD, IGNORE);
  expect("Sendrecv", "\"tag\": 90, \"bytes\": 20, \"matches\": [{\"tag\": 90, \"bytes\": 20}]");
  MPI_Isendrecv(out, 5, MPI_INT, peer, 91, in, 50, MPI_INT, MPI_ANY_SOURCE, 91, WORLD, &request);
  expect("Isendrecv",
         "\"peer\": %d, \"tag\": 91, \"bytes\": 20, \"posts\": %d, \"matches\": [{\"peer\": -1, "
         "\"tag\": 91, "
         "\"bytes\": 200, \"flags\": [\"any_source\"]}]",
         peer, ++next_request);
  MPI_Wait(&request, IGNORE);
  expect("Wait", "\"completes\": [%d], \"peer\": -3, \"bytes\": 0",
         next_request); /* MPICH gives a wrong status */
  MPI_Isend_c(out, 6, MPI_INT, peer, 92, WORLD, &request);
  expect_post("Isend", peer, 92, 24, ++next_request, "");
  MPI_Recv_c(in, 6, MPI_INT, peer, 92, WORLD, IGNORE);
  expect_message("Recv", peer, 92, 24, "");
  MPI_Wait(&request, IGNORE);
  expect("Wait", "\"completes\": [%d]", next_request);
  MPI_Allreduce_c(MPI_IN_PLACE, in, 8, MPI_DOUBLE, MPI_SUM, WORLD);
  expect("Allreduce", "\"bytes\": 64");
  MPI_Psend_init(out, 4, 10, MPI_INT, peer, 93, WORLD, MPI_INFO_NULL, &parts[0]);
  expect_post("PsendInit", peer, 93, 160, ++next_request, "");
  MPI_Precv_init(in, 2, 20, MPI_INT, peer, 93, WORLD, MPI_INFO_NULL, &parts[1]);
  expect_post("PrecvInit", peer, 93, 160, ++next_request, "");
  MPI_Startall(2, parts);
  expect("Startall", "\"starts\": [%d, %d]", next_request - 1, next_request);
  for (int part = 0; part < 4; ++part) {
    MPI_Pready(part, parts[0]);
    expect("Pready", "\"starts\": [%d]", next_request - 1);
  }
  MPI_Waitall(2, parts, MPI_STATUSES_IGNORE);
  expect("Waitall", "\"count\": 2, \"includes\": %d", next_request);
  for (int i = 0; i < 2; ++i) {
    MPI_Request_free(&parts[i]);
    expect("RequestFree", "\"starts\": [%d]", next_request - 1 + i);
  }
  MPI_Barrier_init(WORLD, MPI_INFO_NULL, &request);
  expect("Opaque", "\"name\": \"MPI_Barrier_init\"");
  MPI_Request_free(&request);
  expect("RequestFree", "\"request\": 0");
#endif
}

int main(void) {
  expect_init(MPI_THREAD_SINGLE);
  peer = rank_ ^ 1;
  for (int turn = 0; turn < 2; ++turn) {
    if (rank_ % 2 == turn) {
      blocking_sends();
      feed(20, 22);
      MPI_Recv(in, 0, MPI_CHAR, peer, 49, WORLD, IGNORE);
      expect_message("Recv", peer, 49, 0, "");
      feed(50, 55);
      MPI_Recv(in, 1, MPI_CHAR, peer, 60, WORLD, IGNORE);
      expect_message("Recv", peer, 60, 1, "");
    } else {
      blocking_receives();
      probing();
      completions();
    }
  }
  both_at_once();
  nonblocking();
  nobody();
  small_sends();
  persistent();
  datatypes();
  newest();
  expect_finalize();
  return 0;
}
