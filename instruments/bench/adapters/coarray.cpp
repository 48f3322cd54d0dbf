// SPDX-License-Identifier: BSD-3-Clause
// Adapter of Fortran's coarrays: what gfortran's -fcoarray=lib calls, of whichever library is linked. Put + flag is an
// assignment to a coindexed array and an event post; the statements are in coarray.f90. Events are image control
// statements, which one thread of an image executes, so there is one thread.
#include <cstring>
#include <stdexcept>
#include <string>

#include "harness/worker.hpp"

extern "C" {
// gfortran's main program calls these two.
void _gfortran_caf_init(int* argc, char*** argv);
void _gfortran_caf_finalize();
// The library decides which of them is there.
[[gnu::weak]] int MPI_Get_library_version(char* version, int* length);
[[gnu::weak]] const char* ompl_version();

int bench_coarray_image();
int bench_coarray_images();
void bench_coarray_open(std::size_t channels, std::size_t bytes);
void bench_coarray_close();
std::byte* bench_coarray_target(int channel);
std::byte* bench_coarray_source(int channel);
void bench_coarray_put(int channel, std::size_t offset, std::size_t bytes);
void bench_coarray_signal(int channel);
void bench_coarray_wait(int channel);
void bench_coarray_complete();
}

namespace {

std::string version() {
  if (MPI_Get_library_version != nullptr) {
    char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING of any MPI
    int length = 0;
    MPI_Get_library_version(text, &length);
    return "OpenCoarrays over " + std::string(text, std::strcspn(text, "\n,"));
  }
  return std::string("OmniPGAS ") + (ompl_version == nullptr ? "" : ompl_version());
}

class Coarray {
 public:
  Coarray(const bench::Setup& setup, int argc, char** argv) {
    if (setup.threads != 1)
      throw std::runtime_error(
          "one thread only: events are image control statements, which one thread of an image "
          "executes");
    _gfortran_caf_init(&argc, &argv);
    if (bench_coarray_images() != 2) throw std::runtime_error("needs two images");
    bench_coarray_open(1, bench::pages(setup.bytes));
  }
  ~Coarray() {
    bench_coarray_close();
    _gfortran_caf_finalize();
  }
  Coarray(const Coarray&) = delete;
  Coarray& operator=(const Coarray&) = delete;

  [[nodiscard]] int rank() const { return bench_coarray_image() - 1; }
  [[nodiscard]] bench::Description describe() const {
    return {version(),
            "chosen by the library",
            std::nullopt,
            {{"thread level asked", "one thread"},
             {"put + flag", "assignment to a coindexed array, event post"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return bench_coarray_source(i + 1); }
  [[nodiscard]] std::byte* target(int i) const { return bench_coarray_target(i + 1); }
  void put(int i, std::size_t offset, std::size_t bytes) { bench_coarray_put(i + 1, offset, bytes); }
  void signal(int i) { bench_coarray_signal(i + 1); }
  void wait(int i) { bench_coarray_wait(i + 1); }
  void flush(int /*channel*/) { bench_coarray_complete(); }
  void look(int /*channel*/) { bench_coarray_complete(); }
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Coarray>(argc, argv); }
