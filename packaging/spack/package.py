# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe; goes to packages/omnipgas/package.py of a Spack repository."""

from contextlib import suppress

from spack.package import *

with suppress(ImportError):  # Spack 1 has it in its repository of packages, earlier ones in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator


class Omnipgas(CMakePackage):
    """Communication layer for multithreaded, task-parallel PGAS programs: one-sided put with a flag."""

    license("BSD-3-Clause")

    # No archive is published yet: give the checkout with `spack develop -p CHECKOUT omnipgas@0.2.0`.
    version("0.2.0")

    variant("ofi", default=True, description="Carry the layer over networks, by libfabric")
    variant("verbs", default=True, description="Carry the layer over InfiniBand and RoCE, by Verbs")
    variant("ucx", default=False, description="Carry the layer over networks, by UCX")
    variant("pmix", default=True, description="Start up under launchers that speak PMIx")
    variant("docs", default=False, description="Make the manual pages")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("zlib-api")
    depends_on("libfabric", when="+ofi")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("rdma-core@32:", when="+verbs")
    depends_on("pmix@4:", when="+pmix")
    depends_on("python@3.11:", type="build")

    conflicts("%gcc@:11", msg="C++20")
    conflicts("platform=darwin", msg="Linux only")
    conflicts("platform=windows", msg="Linux only")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("OMPL_WITH_OFI", "ofi"),
            self.define_from_variant("OMPL_WITH_UCX", "ucx"),
            self.define_from_variant("OMPL_WITH_VERBS", "verbs"),
            self.define_from_variant("OMPL_WITH_PMIX", "pmix"),
            self.define_from_variant("OMPL_BUILD_MAN", "docs"),
            self.define("OMPL_BUILD_TESTS", False),
            self.define("OMPL_BUILD_INSTRUMENTS", False),
            self.define("OMPL_BUILD_EXAMPLES", False),
            self.define("OMPL_WITH_FORTRAN", False),
            self.define("OMPL_WITH_COARRAY", False),
            self.define("OMPL_WITH_TASKLET", False),
        ]

    def setup_run_environment(self, env):
        # Loaded when a job needs a network, by their names.
        for variant, package in (("+verbs", "rdma-core"), ("+ofi", "libfabric")):
            if self.spec.satisfies(variant):
                env.prepend_path("LD_LIBRARY_PATH", self.spec[package].prefix.lib)
