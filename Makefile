# Needs Python 3.11 or newer and make; everything else is installed into .venv from the hashed locks.
.DEFAULT_GOAL := help
.PHONY: help up test check lint format types imports bench lock docs clean wheel-test test-all test-sqlite test-postgres test-browser test-npm test-fast soak
.DELETE_ON_ERROR:

# Commands are started by the hundred in tests; without kept bytecode each would compile all of ours again.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
WORKERS ?= 3
LOCKED := .venv/locked
RUNTIME := .venv/runtime-ready
DEV := .venv/dev-ready
BENCH := .venv/bench-ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/pytest -n $(WORKERS)
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock"

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 16

up: $(RUNTIME) ## Run the hub in the foreground, the first time with the demo on its page
	@$(BIN)/tally demo --first || test $$? -ne 130
	@exec $(BIN)/tally up

test: $(DEV) ## Everything CI runs: check, all tests, and the wheel in an empty environment, beside each other
	@$(MAKE) --no-print-directory --jobs --output-sync=line check test-all wheel-test

check: $(DEV) ## Lint, format, types, import direction, beside each other
	@$(MAKE) --no-print-directory --jobs --output-sync=target lint format types imports

lint:
	$(BIN)/ruff check .

format:
	$(BIN)/ruff format --check .

types:
	NODE_OPTIONS=--max-semi-space-size=128 $(BIN)/basedpyright --pythonpath $(BIN)/python

imports:
	$(BIN)/lint-imports --no-logo

test-all: $(DEV) ## Every test, the soaks only in their short form; it ends with what was skipped and why
	$(PYTEST) -m "not soak"

soak: $(DEV) ## The long variants: many thousand kills, jumps and fuzzed requests
	$(PYTEST) -m soak

test-fast: $(DEV) ## What needs neither a server, a browser nor patience
	$(PYTEST) -m "not postgres and not browser and not npm and not slow and not soak"

test-sqlite: $(DEV) ## Everything on the embedded store
	$(PYTEST) -m "not postgres and not browser and not npm and not soak"

test-postgres: $(DEV) ## The tests that need PostgreSQL
	$(PYTEST) -m "postgres and not soak"

test-browser: $(DEV) ## The tests that drive the page in Chromium
	$(PYTEST) -m browser

test-npm: $(DEV) ## The tests that start programs from npm
	$(PYTEST) -m npm

wheel-test: $(DEV) ## Build the wheel and use it from an empty environment outside the checkout
	.ci/wheel-test $(BIN)/python

bench: $(BENCH) ## Measure the budgets on this machine, on SQLite and on PostgreSQL, beside the peers
	$(BIN)/tally bench --postgres

docs: $(DEV) ## Write the reference from the registry and check the documents
	$(BIN)/python -m tallystick.surfaces.cli.reference
	$(BIN)/python -m tallystick.harnesses.install.plugins
	$(BIN)/pytest tests/frame/test_documents.py tests/frame/test_conformance.py

lock: $(DEV) ## Compile the locks again from pyproject.toml
	$(COMPILE) --upgrade pyproject.toml -o requirements.lock
	$(COMPILE) --upgrade --group build -o requirements-build.lock
	$(COMPILE) --upgrade pyproject.toml --group dev -c requirements.lock -c requirements-build.lock -o requirements-dev.lock
	$(COMPILE) --upgrade pyproject.toml --group bench -c requirements.lock -c requirements-dev.lock -o requirements-bench.lock

clean: ## Remove everything that was built or installed here
	rm -rf .venv dist build .pytest_cache .ruff_cache .import_linter_cache .hypothesis test-results
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made anew whenever a lock changes, so that nothing a lock no longer names can linger in it.
$(LOCKED): requirements.lock requirements-build.lock
	.ci/make-venv .venv
	$(PIP) install --require-hashes -r requirements.lock -r requirements-build.lock
	@touch $@

$(RUNTIME): $(LOCKED) pyproject.toml
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(LOCKED) requirements-dev.lock | $(RUNTIME)
	$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

$(BENCH): $(LOCKED) requirements-bench.lock | $(RUNTIME)
	$(PIP) install --require-hashes -r requirements-bench.lock
	@touch $@
