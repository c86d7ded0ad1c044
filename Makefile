# LagMonitor. `make help` lists the commands.
#
# All build output goes to stderr, so that `make run | jq .` receives only the records.

.DEFAULT_GOAL := help
.PHONY: help setup dist-setup run lagmond debug test test-arm64 pipeline wrap programs examples docs exports report-check dependencies dist deb dist-check bench bench-nio bench-symbols bench-top accuracy diagnosis diagnosis-libraries languages native requests services proof sanitize storm fuzz platforms lint
.SILENT:

# SwiftPM passes the traits in the order of a set, which differs in each process, and a changed command line recompiles everything.
SWIFT ?= SWIFT_DETERMINISTIC_HASHING=1 swift

help: ## show this list
	sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

setup: ## install missing Debian packages: libunwind-dev, zlib1g-dev
	Scripts/setup >&2

run: setup ## build in release mode, and run the built-in workload for about ten seconds
	$(SWIFT) build -c release --product lagmond >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" --config config/lagmond.json

lagmond: setup ## build lagmond and the library that it loads into commands, and print their folder
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	$(SWIFT) build -c release --show-bin-path 2>/dev/null

# `swift build` without traits afterwards recompiles all that depends on one.
debug: ## build everything with all adapters, and the tests, in debug mode
	$(SWIFT) build --enable-all-traits --build-tests >&2

test: setup ## run the whole test suite, including the adapters
	Scripts/test

test-arm64: ## compile the C modules for aarch64, and run their tests under qemu, some with Debian's kernel (downloads Debian packages, installs none; 2 min)
	exec Scripts/arm64/run $(ARM64)

pipeline: setup ## send lines through independent readers; QUICK=1: those that take under two minutes
	Scripts/pipeline/run $(READERS)

wrap: setup ## stall, load and measure redis, nginx, node, python3 and SwiftNIO under `lagmond run` (Debian packages; 35 to 110 min, QUICK=1: 10 to 25)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/wrap/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(PROGRAMS)

programs: setup ## run real programs under `lagmond run` and `attach`: unwatched, stalled, loaded and idle (Debian packages, PyPI; 3.5 h; QUICK=1: a third of them, 10 min; QUICK=1 PROGRAMS=all: 25 min; PROGRAMS=idle: 6 min)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/programs/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(PROGRAMS)

# Records go to stdout, the rest to stderr. Each example is a separate package, so each builds the library the first time.
examples: setup ## build each example and stall it from outside; fails if a record is missing or wrong (15 min the first time, then 1)
	for script in Examples/*/stall; do \
		echo "$$script" >&2; \
		"$$script" || { echo "$$script failed" >&2; exit 1; }; \
	done

docs: setup ## build the API documentation (DocC) in .build/docs; an unresolved link is an error (1 min after a build)
	Scripts/docs

dependencies: ## check which packages users of the library must resolve: none, unless they enable a trait (1 min)
	Scripts/check-dependencies

# libstdc++.a must be that of the installed compiler.
dist-setup: setup
	Scripts/setup gcc binutils python3 xz-utils >&2
	[ -e "$$(gcc -print-file-name=libstdc++.a)" ] || Scripts/setup libstdc++-12-dev >&2

dist: dist-setup ## create the archive of lagmond for machines without a toolchain, and print its size (10 min the first time)
	build=$$(Scripts/dist/build) && Scripts/dist/archive "$$build"

deb: dist-setup ## create lagmond's Debian packages, and check them with lintian
	Scripts/setup debhelper dpkg-dev lintian >&2
	build=$$(Scripts/dist/build) && Scripts/dist/deb "$$build"

dist-check: dist deb ## install, test, upgrade and purge the packages in roots of Debian 12 and 13 (root, debootstrap; 10 min)
	Scripts/dist/check $(SUITES)

bench: setup ## measure costs, compared with the observer-and-semaphore watchdog
	$(SWIFT) build -c release --product lagbench >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagbench"

bench-nio: setup ## measure the cost of watching a SwiftNIO echo server, in paired runs (75 s)
	$(SWIFT) build --package-path Evaluation/NIO -c release --product NIOEcho >&2
	exec "$$($(SWIFT) build --package-path Evaluation/NIO -c release --show-bin-path 2>/dev/null)/NIOEcho" $(NIO)

bench-symbols: setup ## measure symbolication (names, lines) of a SwiftNIO program, compared with the toolchain's symboliser
	$(SWIFT) build --package-path Evaluation/NIO -c release --product NIOSubject >&2
	$(SWIFT) build -c release --product lagbench >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagbench" \
		--subject "$$($(SWIFT) build --package-path Evaluation/NIO -c release --show-bin-path 2>/dev/null)/NIOSubject" \
		--only symbol_names --only symbol_names_known --only symbol_lines --only symbol_lines_known

bench-top: setup ## measure `lagmond top` on a million lines, 2 GB, compared with DuckDB and jq (python3, PyPI, jq; 5 minutes)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/bench-top "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(LINES)

exports: setup ## read every format of `lagmond export` with an independent program (python3, Debian packages, PyPI; 1 min)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/check-exports "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond"

report-check: setup ## test the page of `lagmond report` in headless Chromium (python3, Debian's chromium, PyPI; 1 min)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/check-report "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(REPORT)

accuracy: setup ## measure detected, missed and false stalls, compared with the observer-and-semaphore watchdog (12 minutes)
	$(SWIFT) build -c release --product lagaccuracy >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagaccuracy" $(ACCURACY)

requests: setup ## check whether stalls name the request that blocked, in services under load (3 min after a build of 12)
	$(SWIFT) build --package-path Evaluation/Requests -c release --product lagrequests >&2
	exec "$$($(SWIFT) build --package-path Evaluation/Requests -c release --show-bin-path 2>/dev/null)/lagrequests" $(REQUESTS)

services: setup ## check whether stalls in services that embed the library name cause, culprit, request and callers, on an idle machine and beside four computing processes (8 min after a build of 12; QUICK=1: only idle, 4)
	$(SWIFT) build --package-path Evaluation/Services -c release --product servicestalls >&2
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" $(if $(QUICK),,--busy 4) $(SERVICES) \
		--program "$$($(SWIFT) build --package-path Evaluation/Services -c release --show-bin-path 2>/dev/null)/servicestalls"

diagnosis: setup ## check the cause and culprit in the records of known stalls (75 s)
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" $(DIAGNOSIS)

diagnosis-libraries: setup ## check the cause and culprit of stalls in libraries that programs use, on an idle machine and beside four computing processes (Debian packages; 8 min)
	Scripts/setup-libraries >&2
	$(SWIFT) build --package-path Evaluation/Libraries -c release >&2
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" --busy 4 $(LIBRARIES) \
		--program "$$($(SWIFT) build --package-path Evaluation/Libraries -c release --show-bin-path 2>/dev/null)/librarystalls"

languages: setup ## stall programs in other languages, and check function, file and line of their frames (python3 and pyenv's, node, ruby, php, go, java: those that are installed; 3 min each, Python 11)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	exec Scripts/languages/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(LANGUAGES)

native: setup ## stall native programs that use libraries, and check whether they are found, their cause and their culprit (the compilers and Debian packages that are installed; 8 min, QUICK=1: 4)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	exec Evaluation/Native/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(NATIVE)

proof: ## check the protocol of loop, watchdog and stop with SPIN, litmus tests and ThreadSanitizer (Debian packages; 3 min)
	exec Evaluation/Proof/run $(PROOF)

sanitize: setup ## run an embedding program under ThreadSanitizer and AddressSanitizer, with the core built for each (2 min)
	Scripts/sanitize $(SANITIZERS)

storm: setup ## attack lagmond and the programs that it watches: SIGKILL, limits, full disks, bad receivers, hostile neighbours, a soak (some need root; 100 min, QUICK=1: 5)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/storm/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(ATTACKS)

fuzz: setup ## send seeded mutations through the readers of untrusted bytes; SECONDS=600, FUZZ="elf lines"; finds go to Evaluation/Fuzz/Corpus
	$(SWIFT) build -c release --product lagfuzz >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagfuzz" --seconds $(or $(SECONDS),600) $(FUZZ)

platforms: setup ## build the package as other platforms get it (without effect), and compare its public API with that of Linux (4 min after `make test`)
	Scripts/platforms

lint: ## check the format (every warning is an error), Linux-only imports in files for other platforms, the limits of files and targets, the links of the documents, and commit subjects (15 s)
	@! git log -20 --no-merges --format=%s | grep -E '^.{73}' || { echo "a commit subject has more than 72 characters" >&2; exit 1; }
	Scripts/check-portable.py
	Scripts/check-limits.py
	documents=$$(mktemp -d) && trap 'rm -rf "$$documents"' EXIT && Scripts/dist/docs "$$documents"
	$(SWIFT) format lint --recursive --strict --parallel Sources Tests Evaluation \
		Examples/*/Sources Examples/*/Package.swift Package.swift
