// SPDX-License-Identifier: BSD-3-Clause
// A program without MPI: loads a library that has it for itself alone, as Python loads mpi4py, and calls its module_main().
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*const module_main)(int, char**) =
      library != NULL ? (int (*)(int, char**))dlsym(library, "module_main") : NULL;
  if (module_main == NULL) {
    fprintf(stderr, "module: %s\n", dlerror());
    return 2;
  }
  return module_main(argc - 1, argv + 1);
}
