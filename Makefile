# LagMonitor. `make help` lists what there is.
#
# Everything that builds speaks on stderr, so that `make run | jq .` gets the records and nothing else.

.DEFAULT_GOAL := help
.PHONY: help setup dist-setup run lagmond test test-arm64 pipeline wrap programs examples docs exports report-check dependencies dist deb dist-check bench bench-nio bench-symbols bench-top accuracy diagnosis diagnosis-libraries languages requests services proof sanitize storm fuzz platforms lint
.SILENT:

# SwiftPM passes the traits on in the order of a set, which is another one in each process, and a changed command line compiles everything anew.
SWIFT ?= SWIFT_DETERMINISTIC_HASHING=1 swift

help: ## show this list
	sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

setup: ## install the Debian packages that are missing: libunwind-dev, zlib1g-dev
	Scripts/setup >&2

run: setup ## build in release mode and run about ten seconds of the built-in workload
	$(SWIFT) build -c release --product lagmond >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" --config config/lagmond.json

lagmond: setup ## build lagmond and the library that it loads into commands, and say where they are
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	$(SWIFT) build -c release --show-bin-path 2>/dev/null

# With every adapter. A build without is another one to the compiler: `swift build` afterwards builds anew what a trait touches.
test: setup ## run the whole test suite, the adapters' included
	Scripts/test

test-arm64: ## compile the C modules for aarch64 and run their tests under qemu, in part with Debian's kernel (Debian packages, not installed; 2 min)
	exec Scripts/arm64/run $(ARM64)

pipeline: setup ## send lines through readers that are not ours; QUICK=1: those that take under two minutes
	Scripts/pipeline/run $(READERS)

wrap: setup ## stall, load and measure redis, nginx, node, python3 and SwiftNIO under `lagmond run` (Debian packages; 35 to 110 min, QUICK=1: 10 to 25)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/wrap/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(PROGRAMS)

programs: setup ## start, stall, load and leave idle some 50 real programs under `lagmond run` and `attach` (Debian packages, PyPI; 100 min, QUICK=1: 13)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/programs/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(PROGRAMS)

# Records on stdout, the rest on stderr. A package each, so each builds the library anew the first time.
examples: setup ## build every example and stall it from outside: fails where a record is missing or wrong (15 min the first time, then 1)
	for script in Examples/*/stall; do \
		echo "$$script" >&2; \
		"$$script" || { echo "$$script failed" >&2; exit 1; }; \
	done

docs: setup ## build the documentation (DocC) below .build/docs; a link that leads nowhere fails it (1 min after a build)
	Scripts/docs

dependencies: ## check what users of the library have to resolve: nothing, unless they turn on a trait (1 min)
	Scripts/check-dependencies

# The archives of libstdc++ are those of the compiler that is there.
dist-setup: setup
	Scripts/setup gcc binutils python3 xz-utils >&2
	[ -e "$$(gcc -print-file-name=libstdc++.a)" ] || Scripts/setup libstdc++-12-dev >&2

dist: dist-setup ## make the archive of lagmond for machines without a toolchain, and say how large it is (10 min the first time)
	build=$$(Scripts/dist/build) && Scripts/dist/archive "$$build"

deb: dist-setup ## make lagmond's Debian packages, and check them with lintian
	Scripts/setup debhelper dpkg-dev lintian >&2
	build=$$(Scripts/dist/build) && Scripts/dist/deb "$$build"

dist-check: dist deb ## install, try, upgrade and purge the packages in roots of Debian 12 and 13 (root, debootstrap; 10 min)
	Scripts/dist/check $(SUITES)

bench: setup ## measure, against the observer-and-semaphore watchdog
	$(SWIFT) build -c release --product lagbench >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagbench"

bench-nio: setup ## measure what watching costs an echo server on SwiftNIO, in paired runs (75 s)
	$(SWIFT) build --package-path Evaluation/NIO -c release --product NIOEcho >&2
	exec "$$($(SWIFT) build --package-path Evaluation/NIO -c release --show-bin-path 2>/dev/null)/NIOEcho" $(NIO)

bench-symbols: setup ## measure names and lines in a SwiftNIO program, against the toolchain's symboliser
	$(SWIFT) build --package-path Evaluation/NIO -c release --product NIOSubject >&2
	$(SWIFT) build -c release --product lagbench >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagbench" \
		--subject "$$($(SWIFT) build --package-path Evaluation/NIO -c release --show-bin-path 2>/dev/null)/NIOSubject" \
		--only symbol_names --only symbol_names_known --only symbol_lines --only symbol_lines_known

bench-top: setup ## measure `lagmond top` against DuckDB and jq on a million lines, 2 GB (python3, PyPI, jq; 5 minutes)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/bench-top "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(LINES)

exports: setup ## read every format of `lagmond export` with a program that is not ours (python3, Debian packages, PyPI; 1 min)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/check-exports "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond"

report-check: setup ## click through the page of `lagmond report` in headless Chromium (python3, Debian's chromium, PyPI; 1 min)
	$(SWIFT) build -c release --product lagmond >&2
	exec Scripts/check-report "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(REPORT)

accuracy: setup ## measure what is found, missed and false, against the observer-and-semaphore watchdog (12 minutes)
	$(SWIFT) build -c release --product lagaccuracy >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagaccuracy" $(ACCURACY)

requests: setup ## whether stalls name the request that blocked, in services under load (3 min after a build of 12)
	$(SWIFT) build --package-path Evaluation/Requests -c release --product lagrequests >&2
	exec "$$($(SWIFT) build --package-path Evaluation/Requests -c release --show-bin-path 2>/dev/null)/lagrequests" $(REQUESTS)

services: setup ## whether stalls in services that embed the library name cause, culprit, request and callers, quiet and beside four computing processes (8 min after a build of 12; QUICK=1: quiet alone, 4)
	$(SWIFT) build --package-path Evaluation/Services -c release --product servicestalls >&2
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" $(if $(QUICK),,--busy 4) $(SERVICES) \
		--program "$$($(SWIFT) build --package-path Evaluation/Services -c release --show-bin-path 2>/dev/null)/servicestalls"

diagnosis: setup ## hold the records of stalls with known cause and culprit against what they say (75 s)
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" $(DIAGNOSIS)

diagnosis-libraries: setup ## the same of stalls in libraries that programs use, quiet and beside four computing processes (Debian packages; 8 min)
	Scripts/setup-libraries >&2
	$(SWIFT) build --package-path Evaluation/Libraries -c release >&2
	$(SWIFT) build -c release --product lagdiagnosis >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagdiagnosis" --busy 4 $(LIBRARIES) \
		--program "$$($(SWIFT) build --package-path Evaluation/Libraries -c release --show-bin-path 2>/dev/null)/librarystalls"

languages: setup ## stall programs in other languages, and hold their frames against what is true: function, file, line (python3 and pyenv's, node, ruby, php, go, java: those that are installed; 15 min each)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	exec Scripts/languages/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(LANGUAGES)

proof: ## check the protocol of loop, watchdog and stop with SPIN, litmus tests and ThreadSanitizer (Debian packages; 3 min)
	exec Evaluation/Proof/run $(PROOF)

sanitize: setup ## an embedding program under ThreadSanitizer and AddressSanitizer, the core built for each (2 min)
	Scripts/sanitize $(SANITIZERS)

storm: setup ## attack lagmond and the programs that it watches: SIGKILL, limits, full disks, bad receivers, hostile neighbours, a soak (root for all; 100 min, QUICK=1: 5)
	$(SWIFT) build -c release --product lagmond >&2
	$(SWIFT) build -c release --product lagmonitor-preload >&2
	Scripts/storm/run "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagmond" $(ATTACKS)

fuzz: setup ## seeded mutations through the readers of foreign bytes; SECONDS=600, FUZZ="elf lines"; finds go to Evaluation/Fuzz/Corpus
	$(SWIFT) build -c release --product lagfuzz >&2
	exec "$$($(SWIFT) build -c release --show-bin-path 2>/dev/null)/lagfuzz" --seconds $(or $(SECONDS),600) $(FUZZ)

platforms: setup ## build what other platforms get, which does nothing, and compare its public API with that of Linux (3 min after `make test`)
	Scripts/platforms

lint: ## check the format, where every warning is an error, other platforms' files for imports of Linux alone, and commit subjects
	@! git log -20 --no-merges --format=%s | grep -E '^.{73}' || { echo "a commit subject has more than 72 characters" >&2; exit 1; }
	Scripts/check-portable.py
	$(SWIFT) format lint --recursive --strict --parallel Sources Tests Evaluation \
		Examples/*/Sources Examples/*/Package.swift Package.swift
