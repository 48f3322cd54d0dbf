# SPDX-License-Identifier: BSD-3-Clause
"""A program that counts which of its small operations call the library, by the linker's --wrap, and checks results."""

# Function -> result, parameters, arguments of the wrapper.
INLINED_CALLS = {
    "long_p": ("void", "long *dest, long value, int pe", "dest, value, pe"),
    "long_g": ("long", "const long *source, int pe", "source, pe"),
    "putmem": ("void", "void *dest, const void *source, size_t nelems, int pe", "dest, source, nelems, pe"),
    "getmem": ("void", "void *dest, const void *source, size_t nelems, int pe", "dest, source, nelems, pe"),
    "uint64_atomic_fetch_add": ("uint64_t", "uint64_t *dest, uint64_t value, int pe", "dest, value, pe"),
    "uint64_atomic_inc": ("void", "uint64_t *dest, int pe", "dest, pe"),
    "quiet": ("void", "void", ""),
}


def _wrapper(name: str, result: str, parameters: str, arguments: str) -> str:
    return (
        f"static int calls_{name};\n{result} __real_shmem_{name}({parameters});\n"
        f"{result} __wrap_shmem_{name}({parameters}) {{\n"
        f"  ++calls_{name};\n  {'' if result == 'void' else 'return '}__real_shmem_{name}({arguments});\n}}\n"
    )


# Static data of the executable and a block of the heap take turns.
INLINED = (
    "#include <shmem.h>\n#include <stdio.h>\n"
    + "".join(_wrapper(name, *each) for name, each in INLINED_CALLS.items())
    + r"""
static long data;
static uint64_t word;
#define EXPECT(condition) if (!(condition)) { printf("line %d\n", __LINE__); shmem_global_exit(1); }
static void use(long *at, uint64_t *count, int rounds) {
  long value = 0;
  for (long i = 1; i <= rounds; ++i) {
    shmem_long_p(at, i, 1);
    shmem_quiet();
    EXPECT(shmem_long_g(at, 1) == i);
    value = -i;
    shmem_putmem(at, &value, sizeof value, 1);
    shmem_quiet();
    value = 0;
    shmem_getmem(&value, at, sizeof value, 1);
    EXPECT(value == -i);
    EXPECT(shmem_uint64_atomic_fetch_add(count, 3, 1) == 4 * (uint64_t)(i - 1));
    shmem_uint64_atomic_inc(count, 1);
  }
}
int main(void) {
  shmem_init();
  long *at = shmem_calloc(1, sizeof *at);
  uint64_t *count = shmem_calloc(1, sizeof *count);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) use(at, count, 100);
  shmem_barrier_all();
  if (shmem_my_pe() == 1) EXPECT(*at == -100 && *count == 400);
"""
    + "".join(f'  if (shmem_my_pe() == 0) printf("{name}: %d calls\\n", calls_{name});\n' for name in INLINED_CALLS)
    + r"""
  if (shmem_my_pe() == 0) use(&data, &word, 100);
  shmem_barrier_all();
  if (shmem_my_pe() == 1) EXPECT(data == -100 && word == 400);
  shmem_finalize();
  return 0;
}
"""
)

# A tool that is loaded before the library.
TOOL = r"""
#define SHMEM_NO_INLINE
#include <pshmem.h>
#include <stdio.h>
static int seen;
void shmem_long_p(long *dest, long value, int pe) {
  ++seen;
  pshmem_long_p(dest, value, pe);
}
__attribute__((destructor)) static void tell(void) {
  if (seen > 0) fprintf(stderr, "%d calls seen\n", seen);
}
"""
TOOL_USER = r"""
#include <shmem.h>
static long data;
int main(void) {
  shmem_init();
  if (shmem_my_pe() == 0)
    for (int i = 0; i < 100; ++i) shmem_long_p(&data, i, 1);
  shmem_barrier_all();
  const int wrong = shmem_my_pe() == 1 && data != 99;
  shmem_finalize();
  return wrong;
}
"""
