# Every developer command in one place. `make help` lists them.
#
# Each target does its own set-up: a fresh machine needs Python 3.11 to 3.13, git and make,
# nothing else. The set-up is stamped and not repeated until pyproject.toml or a pin changes.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup gate test lint types upstream night docs clean

# Set PYTHON to choose the interpreter; otherwise the first usable one of these.
PYTHON ?=
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11
BIN := .venv/bin
STAMP := .venv/.loopspec-setup
PINS := requirements/base.txt requirements/dev.txt

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install loopspec with its tools

$(STAMP): pyproject.toml $(PINS)
	@if [ ! -x $(BIN)/python ]; then \
	  for python in $(CANDIDATES); do \
	    if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	        2>/dev/null; then found="$$python"; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "loopspec needs Python 3.11 to 3.13, and none of these is one: $(CANDIDATES)" >&2; \
	    echo "Set it by hand: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 2; \
	  fi; \
	  echo "set-up: .venv with $$("$$found" -V)" >&2; \
	  "$$found" -m venv .venv || { rm -rf .venv; \
	    echo "$$found has no venv module; on Debian: apt-get install python3-venv" >&2; exit 2; }; \
	fi
	@echo "set-up: installing loopspec and its tools (once)" >&2
	@$(BIN)/python -m pip --disable-pip-version-check -q install \
	  $(addprefix -c ,$(PINS)) -e '.[dev]'
	@touch $@

# A fixed seed: the gate says the same of the same commit (docs/decisions/0010).
SEED ?= 4217

gate: $(STAMP) ## explore the specification, judge the shipped loop and logs (under 3 minutes)
	@$(BIN)/loopspec explore
	@$(BIN)/loopspec check --effort quick --seed $(SEED)
	@$(BIN)/loopspec trace examples/logs --expect examples/logs/expected.toml

test: lint types ## ruff, mypy and pytest
	@$(BIN)/python -m pytest -q -n auto --dist worksteal

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/mypy

# Loops that are not ours, for which the tests ask when they are there.
ADAPTERS := impl/adapters/dsh impl/adapters/pi
ADAPTER_STAMPS := $(ADAPTERS:%=%/node_modules/.package-lock.json)
PEERS_STAMP := .venv/.loopspec-peers

%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@npm ci --ignore-scripts --no-audit --no-fund --silent --prefix $*
	@touch $@

$(PEERS_STAMP): $(STAMP) requirements/peers.txt
	@$(BIN)/python -m pip --disable-pip-version-check -q install \
	  $(addprefix -c ,$(PINS) requirements/peers.txt) -e '.[peers]'
	@touch $@

upstream: $(STAMP) $(ADAPTER_STAMPS) $(PEERS_STAMP) ## install the loops that are not ours, and try them
	@$(BIN)/loopspec smoke "node impl/adapters/dsh/adapter.mjs"
	@$(BIN)/loopspec findings

night: $(STAMP) ## the longer work: deep effort
	@$(BIN)/loopspec explore
	@$(BIN)/loopspec check --effort deep
	@LOOPSPEC_NIGHT=1 $(BIN)/python -m pytest -q -n auto tests/conformance/test_mutants_die.py \
	  tests/quality/test_crash_points.py tests/quality/test_disk_faults.py \
	  tests/quality/test_hostile_files.py \
	  tests/system/test_terminal.py tests/reports/test_sinks.py tests/reports/test_browser.py \
	  tests/ports/test_mutated_answers.py
	@if [ -n "$${LOOPSPEC_DATA:-}" ]; then \
	  $(BIN)/loopspec transcripts "$$LOOPSPEC_DATA/upstream-transcripts" --edits all; \
	  $(BIN)/loopspec trace "$$LOOPSPEC_DATA"/sessions/v[034]-0*.jsonl --edits; \
	else echo "transcripts: skipped, LOOPSPEC_DATA is not set" >&2; fi

docs: $(STAMP) ## write the generated documents again
	@$(BIN)/python tests/generated.py --write

clean: ## remove the environment, caches and run folders
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist loopspec-runs
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
