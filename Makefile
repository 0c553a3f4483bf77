# Every target sets up what it needs: a clean machine with Python 3.11+, make and the package registries is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODEL_STAMP := $(VENV)/.model-installed
MODEL_SOURCES := $(shell find packages/minilm -type f -not -path '*/build/*' -not -path '*/__pycache__/*')
UV_VERSION := 0.13.7
UV := .tools/uv-$(UV_VERSION)/bin/uv
LOCK := $(UV) pip compile pyproject.toml --excludes lock-excludes.txt --generate-hashes --universal \
	--no-annotate --no-header --no-emit-index-url --quiet
# Four workers keep two cores busy: many tests wait for a process, a timeout or a kill. Those of `make check` do not wait.
PYTEST := $(BIN)/pytest --dist worksteal

CACHES := tests/support/__pycache__

# Byte code is kept, even if the environment forbids it: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup dist demo test live replicas check lint types style browser pooler uvx recipes screenshots serve scale trust bench docs site lock clean

help: ## Show what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) $(MODEL_STAMP) ## Install everything from the committed lock; leaves .venv/bin/bookwise

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) (first time only) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/bookwise  # a cold start should not compile
	@touch $@

$(MODEL_STAMP): $(MODEL_SOURCES) | $(STAMP)
	@echo "Building the embedding model (first time only) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation ./packages/minilm
	@touch $@

dist: setup ## Build the wheels of bookwise and bookwise-minilm, and the sdist of bookwise, into dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory $(CURDIR)/dist
	@cd packages/minilm && $(CURDIR)/$(BIN)/python -m hatchling build --target wheel --directory $(CURDIR)/dist

$(UV):
	@$(PYTHON) -m venv .tools/uv-$(UV_VERSION)
	@.tools/uv-$(UV_VERSION)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

lock: $(UV) ## Resolve the dependencies again into both lock files (hashes, no addresses)
	$(LOCK) --all-extras -o requirements.lock
	$(LOCK) --extra agent --extra postgres --extra qdrant --extra telemetry -o deploy/requirements.lock

demo: setup ## Ingest the sample book, ask it and search it, in a throw-away data folder
	@BIN=$(BIN) sh examples/demo.sh

check: setup lint ## Format, lint, types, layers, unit tests and contracts on local backends: before every commit
	@$(PYTEST) -n 2 -m "not slow" -k "not postgres" tests/unit tests/contracts tests/architecture

lint: setup
	@$(MAKE) --no-print-directory -j 2 types style $(CACHES)

types:
	@$(BIN)/mypy --no-error-summary

style:
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	@$(BIN)/python -m docs.reference --check

# The second core is free while mypy reads everything.
$(CACHES):
	@$(BIN)/python -m tests.support.warm_caches >/dev/null

# Programs that the tests need come from Debian where this may be done. Without one, its tests are left out, with a message.
# Chromium without windows does the tests of the browser in half the CPU time. The whole one is enough where it is installed already.
browser:
	@$(call debian,chromium-headless-shell chromium,the browser tests)

pooler:
	@PATH="$$PATH:/usr/sbin"; $(call debian,pgbouncer,the tests through a connection pooler)

# Not in the lock: 20 MB that only `make lock` and one test need.
uvx:
	@test -x $(UV) || $(MAKE) --no-print-directory $(UV) || echo "There is no uv: the test of uvx is left out."

define debian
for program in $(1); do command -v $$program >/dev/null && exit 0; done; \
if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	echo "Installing $(firstword $(1)) for $(2) (first time only) ..."; apt-get update -qq >/dev/null 2>&1; \
	for package in $(1); do DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $$package >/dev/null 2>&1 && exit 0; done; \
fi; \
echo "There is no $(firstword $(1)): $(2) are left out."
endef

test: setup lint browser pooler uvx ## Everything: every backend, real processes, real kills
	@$(PYTEST) -n 4

live: setup ## The index on a real Qdrant server: make live QDRANT_URL=http://localhost:6333 [QDRANT_API_KEY=...]
	@test -n "$(QDRANT_URL)" || { echo "Name a Qdrant server: make live QDRANT_URL=http://localhost:6333"; exit 2; }
	@env -u QDRANT_URL -u QDRANT_API_KEY BOOKWISE_TEST_QDRANT_URL="$(QDRANT_URL)" \
		BOOKWISE_TEST_QDRANT_API_KEY="$(QDRANT_API_KEY)" $(BIN)/pytest -n 2 -m live -rs tests

replicas: setup ## Two services and two workers, killed in turn during 200 chats and 5 ingests: make replicas [QDRANT_URL=...]
	@env -u QDRANT_URL -u QDRANT_API_KEY BOOKWISE_TEST_QDRANT_URL="$(QDRANT_URL)" \
		BOOKWISE_TEST_QDRANT_API_KEY="$(QDRANT_API_KEY)" REPLICA_CHATS=200 $(BIN)/pytest tests/faults/test_replicas.py

# mdBook is built by cargo and Docusaurus installed by npm: minutes to install, so `make test` leaves their sites out without them.
recipes: setup browser ## The widget on sites built with MkDocs, mdBook and Docusaurus (needs cargo and npm; minutes)
	@test -x .tools/mdbook/bin/mdbook || cargo install --quiet --root .tools/mdbook mdbook
	@mkdir -p .tools/docusaurus && cp examples/widget/docusaurus/package.json .tools/docusaurus/
	@cd .tools/docusaurus && npm install --silent --no-audit --no-fund
	@$(BIN)/pytest -rs tests/browser/test_widget_recipes.py

screenshots: setup browser ## A picture of each state of the page, the widget and the author's view, into .tools/screenshots
	@$(BIN)/python -m docs.screenshot --states .tools/screenshots

serve: setup ## Serve the sample book over HTTP on this machine
	@$(BIN)/bookwise ingest examples/physical-ai
	@$(BIN)/bookwise serve

scale: setup ## How search, memory and start grow with books and chunks (minutes): make scale [QDRANT_URL=...]
	@env -u QDRANT_URL -u QDRANT_API_KEY $(BIN)/python -m benchmarks.scale \
		--qdrant-url "$(QDRANT_URL)" --qdrant-api-key "$(QDRANT_API_KEY)"

trust: setup ## The twelve figures of docs/trust.md: kills, faults, load, attacks, each with a control (at most 45 minutes; PAGE=docs/trust.md writes the table)
	@$(BIN)/python -m benchmarks.trust $(if $(PAGE),--write $(PAGE))

bench: setup ## Ratios against the bare floor, and the quality of search and answers (needs a quiet machine; see docs/benchmarks.md)
	@$(BIN)/python -m benchmarks.chunking
	@$(BIN)/python -m benchmarks.search
	@$(BIN)/python -m benchmarks.ingest
	@$(BIN)/python -m benchmarks.retrieval
	@$(BIN)/python -m benchmarks.books
	@$(BIN)/python -m benchmarks.answers
	@$(BIN)/python -m benchmarks.readers
	@$(BIN)/python -m benchmarks.followups
	@$(BIN)/python -m benchmarks.grounding
	@$(BIN)/python -m benchmarks.contradictions
	@$(BIN)/python -m benchmarks.serve
	@$(BIN)/python -m benchmarks.page

docs: setup ## Write the reference pages again from the code
	@$(BIN)/python -m docs.reference

site: setup ## Build the documentation site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Built build/site. Look at it with: $(BIN)/python -m http.server 3000 --directory build/site"

clean: ## Remove what the targets made
	rm -rf $(VENV) dist build packages/minilm/build .tools .bookwise .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
