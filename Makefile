# The newcomer's commands. `make` alone tells them.
PYTHON := .venv/bin/python
# Side by side on all cores; of those that start servers, two at a time, but for those that need the host for themselves.
FAST := 'not integration and not slow'
ALONE := '(integration or slow) and alone and not long'
BESIDE := '(integration or slow) and not alone and not long'
# Each of the two has a network of its own, which only root can give it: one phpdyno measures on a host.
WORKERS := $(if $(filter 0,$(shell id -u)),2,0)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Each test starts a phpdyno, which would compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-long test-fast lint bench format venv wheel deb
# Prerequisites are steps in an order (setup, then lint); with -j they would run at the same time.
.NOTPARALLEL:

help:
	@printf '%s\n' \
	  'make setup      install what is missing, build the native core; leaves .venv/bin/phpdyno' \
	  'make demo       setup, then tunes WordPress: what helps it here (about eight minutes)' \
	  'make test       setup, then the tests' \
	  'make test-fast  the tests that need no server (under two minutes)' \
	  'make test-long  what takes too long for every day: builds, all connectors, long searches' \
	  'make lint       style, types, layers' \
	  'make wheel      a wheel that needs no compiler, into dist/' \
	  'make deb        a Debian package for this distribution, into dist/' \
	  'make bench      the figures of docs/benchmarks.md'

setup:
	@sh scripts/setup.sh

# Looked for and not made: a look at the style should not install packages.
venv:
	@test -x $(PYTHON) || { echo 'there is no .venv here yet; run: make setup' >&2; exit 1; }

demo: setup
	phpdyno tune wordpress --budget 7m

test: setup lint
	cargo test --locked --quiet --workspace --exclude dyno-py -- --test-threads=4
	$(PYTHON) -m pytest -q -n auto -m $(FAST)
	$(PYTHON) -m pytest -m $(ALONE)
	$(PYTHON) -m pytest -n $(WORKERS) --dist loadfile -m $(BESIDE)

test-long: setup
	$(PYTHON) -m pytest -p tools.long_tests -m long

test-fast: venv
	$(PYTHON) -m pytest -q -n auto -m $(FAST)

lint: venv
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	$(PYTHON) -m tools.house
	@if cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1; then set -x; \
	  cargo fmt --check && cargo clippy --release --locked --quiet --workspace --all-targets -- -D warnings; \
	else echo 'lint: cargo fmt and clippy are not installed here (Debian has none for cargo-web); Rust is not linted'; fi

format: venv
	ruff check --fix .
	ruff format .
	cargo fmt

wheel: setup
	@sh scripts/wheel.sh dist

deb: wheel
	@sh scripts/deb.sh "$$(ls -t dist/phpdyno-*.whl | head -n 1)" dist

bench: setup
	$(PYTHON) -m tools.bench
