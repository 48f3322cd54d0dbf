# SPDX-License-Identifier: BSD-3-Clause
# Nix, in the checkout:
#   nix-build -E 'with import <nixpkgs> { }; callPackage ./packaging/nix/package.nix { }'
{ lib, stdenv, cli11, cmake, fmt, hwloc, libfabric, ninja, nlohmann_json, pkg-config, python3, rdma-core, zlib }:

stdenv.mkDerivation {
  pname = "omnipgas";
  version = "0.2.0";

  src = lib.cleanSource ../..;

  nativeBuildInputs = [ cmake ninja pkg-config python3 ];
  buildInputs = [ cli11 fmt hwloc libfabric nlohmann_json rdma-core zlib ];

  cmakeFlags = [
    "-DOMPL_BUILD_TESTS=OFF"
    "-DOMPL_BUILD_EXAMPLES=OFF"
    "-DOMPL_BUILD_INSTRUMENTS=OFF"
    "-DOMPL_WITH_FORTRAN=OFF"
    "-DOMPL_WITH_COARRAY=OFF"
    "-DOMPL_WITH_TASKLET=OFF"
  ];

  meta = {
    description = "Communication layer for multithreaded, task-parallel PGAS programs";
    license = lib.licenses.bsd3;
    platforms = lib.platforms.linux;
    mainProgram = "omplrun";
  };
}
