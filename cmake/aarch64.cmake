# Cross-compilation for aarch64 with Debian's compiler; tests run under qemu-user. scripts/aarch64.py makes
# OMPL_SYSROOT, a folder with the foreign libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu)

set(GTest_DIR ${OMPL_SYSROOT}/usr/lib/aarch64-linux-gnu/cmake/GTest)
set(fmt_DIR ${OMPL_SYSROOT}/usr/lib/aarch64-linux-gnu/cmake/fmt)
