# SPDX-License-Identifier: GPL-2.0-or-later
# The few commands a person types. Meson builds (meson.build); packages.txt lists the Debian packages.
#
#   make demo     build, watch this kernel for three seconds, show who waited behind whom
#   make check    build with gcc, clang and sanitizers, run every test
#   make bench    measure speed and memory against trace-cmd and a bare loop; cost and accuracy of locks
#   make fuzz     libFuzzer on the decoders, FUZZ_SECONDS each
#   make install  PREFIX=/usr/local DESTDIR=

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
RELEASE := build/release

.PHONY: build deps demo check bench fuzz install clean

build:
	@.ci/deps --ask-only build
	@tests/run --build-only release

deps:
	@.ci/deps build test bench

demo:
	@.ci/deps build
	@tests/run --build-only release
	@tests/demo/demo.sh $(RELEASE)

check:
	@.ci/deps build test
	@tests/run --all

bench:
	@.ci/deps build bench
	@tests/run --build-only release
	@tests/bench/bench.py $(RELEASE)
	@tests/bench/bench_locks.py $(RELEASE)

fuzz:
	@.ci/deps build test
	@tests/run --build-only fuzz
	@tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

install: build
	@meson configure $(RELEASE) -Dprefix=$(abspath $(PREFIX))
	@DESTDIR=$(DESTDIR) meson install -C $(RELEASE)

clean:
	rm -rf build
