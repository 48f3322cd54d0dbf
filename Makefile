# SPDX-License-Identifier: BSD-3-Clause
# Short names for what CMake presets and the scripts do. `make help` lists them.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
export DESTDIR

.PHONY: build demo check check-all lint figures docs deb wheel install uninstall clean distclean help setup-demo setup-check setup-figures

build: ## Build everything into build/; what can be run is in build/bin (default)
	@scripts/setup.sh build
	cmake --preset release
	cmake --build build -j $(JOBS)

demo: setup-demo ## Set up the machine, build, compare OMPL with MPICH and Open MPI (table and plot)
	@scripts/demo.sh $(JOBS)

check: setup-check ## Set up the machine; lint, build, test; sanitizers
	@scripts/check.py

check-all: setup-check setup-package setup-figures ## The same with the long tests, hours; PART=release, fuzz, asan, tsan, lint for some of it
	@scripts/check.py --all $(PART)

lint: setup-check ## clang-format, clang-tidy, codespell, ruff, mypy
	@test -f build/compile_commands.json || cmake --preset release
	@scripts/lint.py

figures: setup-check setup-figures build ## Measure every "must show" figure; stores the result files
	build/bin/omni figures

docs: setup-check ## The site, build/docs/html/index.html; needs no network to be built or read
	@scripts/site.py build/docs

deb: setup-package ## Debian packages in build/deb
	@packaging/deb.sh build/deb

wheel: setup-demo setup-package ## Python wheels in build/wheel: the layer with headers and launcher, and omni
	@packaging/wheel/wheel.py build/wheel

install: ## Build and install library, headers, tools and manual pages below PREFIX (/usr/local), staged in DESTDIR
	@scripts/setup.sh build
	cmake --preset release
	cmake --build build -j $(JOBS) --target installed
	@scripts/install.sh $(PREFIX)

uninstall: ## Remove what `make install` put there
	cmake -DMANIFEST=build/install_manifest.txt -P cmake/Uninstall.cmake

clean: ## Remove what was compiled; keeps what setup and figures made
	find build -mindepth 1 -maxdepth 1 ! -name venv ! -name peers ! -name results ! -name wheel-tools -exec rm -rf {} + 2>/dev/null || true

distclean: ## Remove build/
	rm -rf build

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup-demo setup-check setup-package setup-figures:
	@scripts/setup.sh $(@:setup-%=%)
