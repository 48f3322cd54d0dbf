// SPDX-License-Identifier: BSD-3-Clause
// A C++ program whose requests move: they are made in one variable and completed in another.
#include <vector>

#include "expect.h"

namespace {

constexpr int kMessages = 100;

MPI_Request post(int peer, int tag, const std::vector<double>& data) {
  MPI_Request request;
  MPI_Isend(data.data(), tag, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, &request);
  expect_post("Isend", peer, tag, 8L * tag, tag + 1, "");
  return request;
}

}  // namespace

int main() {
  expect_init(MPI_THREAD_SINGLE);
  const int peer = 1 - rank_;
  std::vector<double> out(kMessages), in(kMessages);
  std::vector<MPI_Request> requests;
  for (int tag = 0; tag < kMessages; ++tag) requests.push_back(post(peer, tag, out));
  for (int tag = 0; tag < kMessages; ++tag) {
    MPI_Recv(in.data(), kMessages, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_message("Recv", peer, tag, 8L * tag, "");
  }
  for (int tag = 0; tag < kMessages; ++tag) {
    MPI_Wait(&requests[static_cast<std::size_t>(tag)], MPI_STATUS_IGNORE);
    expect("Wait", "\"completes\": [%d]", tag + 1);
  }
  expect_finalize();
}
