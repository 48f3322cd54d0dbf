/* SPDX-License-Identifier: BSD-3-Clause
 * ends timer N: sends without end, until a timer kills the process after N microseconds on a core.
 * ends HOW N: rank 0 sends N messages of i % 64 bytes to rank 1, tagged i % 32768, and the job then ends as told. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "expect.h"

int main(int argc, char** argv) {
  char data[64] = {0};
  if (argc != 3) return 2;
  const int n = atoi(argv[2]);
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Barrier(MPI_COMM_WORLD); /* all have their files */
  if (strcmp(argv[1], "timer") == 0) {
    const struct itimerval once = {.it_value = {.tv_sec = 0, .tv_usec = n}};
    setitimer(ITIMER_PROF, &once, NULL);
    for (int i = 0;; ++i) MPI_Send(data, i % 64, MPI_CHAR, MPI_PROC_NULL, i % 32768, MPI_COMM_WORLD);
  }
  for (int i = 0; i < n && rank_ == 0; ++i)
    MPI_Send(data, i % 64, MPI_CHAR, 1, i % 32768, MPI_COMM_WORLD);
  for (int i = 0; i < n && rank_ == 1; ++i)
    MPI_Recv(data, 64, MPI_CHAR, 0, i % 32768, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD); /* all has come */
  if (strcmp(argv[1], "abort") == 0 && rank_ == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(argv[1], "abort") == 0) pause(); /* until the launcher ends it */
  if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  if (strcmp(argv[1], "exit") == 0) {
    MPI_Barrier(MPI_COMM_WORLD); /* the launcher may end who is not done when another is gone */
    _exit(0);
  }
  if (strcmp(argv[1], "unknown") == 0) {
    MPI_File file;
    char name[64];
    snprintf(name, sizeof name, "/tmp/ompl_trace_ends.%d", (int)getpid());
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write(file, data, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_write(file, data, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  MPI_Finalize();
  return 0;
}
