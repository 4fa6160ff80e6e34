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
DEV   := $(VENV)/.dev-$(NEEDS)

# Two makes at once take turns: the lock goes with the process that holds it.
LOCKED := $(PYTHON) -c 'import fcntl, subprocess, sys; lock = open(".venv.lock", "w"); fcntl.flock(lock, fcntl.LOCK_EX); \
	sys.exit(subprocess.call(sys.argv[1:]))'
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check

# Set in the environment, so that they hold for the build of the package too.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

.PHONY: help demo test check docs bench matrix nightly clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

demo: $(CLI) ## watch a server fail in every way, and an agent decide
	@$(BIN)/failwell demo

test: $(DEV) ## run the tests; fails below 95 % branch coverage
	@$(BIN)/pytest --cov --numprocesses auto --dist loadfile

check: $(DEV) ## lint, format, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/lint-imports --no-logo --no-cache

docs: $(DEV) ## build the site with search, for a browser: build/site/index.html
	@$(BIN)/python -m sphinx -q -W --keep-going -E -d build/doctrees docs build/site
	@echo "open build/site/index.html"

bench: $(DEV) ## measure every goal beside something else, write docs/benchmarks.md (ten minutes)
	@$(BIN)/python -m bench

matrix: $(DEV) ## run the tests that need an environment of their own: SDKs, agent stacks, real servers, a browser
	@$(BIN)/nox -j 2 --allow-parallel $(if $(TAG),-t $(TAG))

nightly: $(DEV) ## run the tests with ten times as many generated examples
	@HYPOTHESIS_PROFILE=nightly $(BIN)/pytest --numprocesses auto --dist loadfile

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) .venv.lock .coverage .hypothesis .mypy_cache .nox .pytest_cache .ruff_cache build dist htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit("failwell needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(LOCKED) sh -ec 'test -e $@ || { echo "making $(VENV)"; $(PYTHON) -m venv --clear $(VENV); touch $@; }'

$(CLI): $(MADE)
	@$(LOCKED) sh -ec 'test -e $@ || { echo "installing failwell"; rm -f $(VENV)/.cli-* $(VENV)/.dev-*; $(PIP) -e ".[demo]"; touch $@; }'

$(DEV): $(CLI)
	@$(LOCKED) sh -ec 'test -e $@ || { echo "installing the development tools"; $(PIP) -e ".[dev]"; touch $@; }'
