# Every target sets up what it needs: a clean machine with Python 3.11+, make and the package registries is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA ?= ../shared/data

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint serve bench docs docs-check lock clean

help: ## Show what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Install everything from the committed lock; leaves .venv/bin/bookwise

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) (first time only) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

lock: ## Resolve the dependencies anew into requirements.lock (hashes, no addresses)
	@test -x .tools/bin/uv || ($(PYTHON) -m venv .tools && .tools/bin/python -m pip install --quiet uv)
	.tools/bin/uv pip compile pyproject.toml --all-extras --generate-hashes --universal \
		--no-annotate --no-header --no-emit-index-url --quiet -o requirements.lock
