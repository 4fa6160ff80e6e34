# Everything runs in .venv, which the targets make and keep current by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# An environment breaks when its folder moves, and is stale when the requirements change:
# the stamps are named by both, and each is written last, so half a set-up is done again.
PLACE := $(shell pwd -P | cksum | cut -d' ' -f1)
NEEDS := $(PLACE)-$(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
MADE  := $(VENV)/.made-$(PLACE)
CLI   := $(VENV)/.cli-$(NEEDS)
TESTS := $(VENV)/.tests-$(NEEDS)
DEV   := $(VENV)/.dev-$(NEEDS)

# Two makes at once take turns: the lock goes with the process that holds it.
LOCKED := $(PYTHON) -c 'import fcntl, subprocess, sys; lock = open(".venv.lock", "w"); fcntl.flock(lock, fcntl.LOCK_EX); \
	sys.exit(subprocess.call(sys.argv[1:]))'
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check

# A file stays on one worker, and tests/conftest.py puts the files that take longest first.
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Set in the environment, so that they hold for the build of the package too.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

.PHONY: help demo test cover check docs bench matrix nightly clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

demo: $(CLI) ## watch a server fail, bare and protected, and what an agent does about it
	@$(BIN)/failwell demo

test: $(TESTS) ## run the tests, in about five minutes; some of them: make test ONLY=tests/client
	@$(PYTEST) -m "not slow" $(ONLY)

cover: $(DEV) ## run all tests, the slow ones too, with more examples; fails below 95 % branch coverage
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) --cov

check: $(DEV) ## lint, format, types, layers, that facts stand in one table, and a handful of ratios of speed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/pytest --quiet -m table tests
	$(BIN)/python -m bench --check

docs: $(DEV) ## build the site with search, for a browser: build/site/index.html
	@$(BIN)/python -m sphinx -q -W --keep-going -E -d build/doctrees docs build/site
	@echo "open build/site/index.html"

bench: $(DEV) ## measure everything and write bench/RESULTS.md (ten minutes)
	@$(BIN)/python -m bench

matrix: $(DEV) ## run the tests that need an environment of their own: SDKs, agent stacks, real servers, a browser
	@$(BIN)/nox -j 3 --allow-parallel $(if $(TAG),-t $(TAG))

nightly: $(DEV) ## run all tests with twenty times as many examples again, and other ones each time; then fuzz and soak the proxies
	@HYPOTHESIS_PROFILE=nightly $(PYTEST)
	@$(BIN)/python -m tests.proxy.fuzz 200000 "$$(date +%F)"
	@$(BIN)/python -m tests.proxy.soak

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) .venv.lock .coverage .hypothesis .mypy_cache .nox .pytest_cache .ruff_cache build dist htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit("failwell needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(LOCKED) sh -ec 'test -e $@ || { echo "making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); $(PIP) --upgrade pip; touch $@; }'

$(CLI): $(MADE)
	@$(LOCKED) sh -ec 'test -e $@ || { echo "installing failwell"; rm -f $(VENV)/.cli-* $(VENV)/.tests-* $(VENV)/.dev-*; $(PIP) -e ".[demo]"; touch $@; }'

$(TESTS): $(CLI)
	@$(LOCKED) sh -ec 'test -e $@ || { echo "installing what the tests need"; $(PIP) -e ".[all]" --group tests; touch $@; }'

$(DEV): $(TESTS)
	@$(LOCKED) sh -ec 'test -e $@ || { echo "installing the development tools"; $(PIP) -e ".[all]" --group dev; touch $@; }'
