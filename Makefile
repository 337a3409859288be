# Two commands do everything on a fresh machine with Python 3.11+, make and git:
#   make demo    a whole simulated study, offline after its downloads; prints the report's path
#   make test    lint, types and tests

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-slow lint docs lock perf clean
.DEFAULT_GOAL := demo

demo: $(VENV)/run.ready
	@$(BIN)/contextbias demo

test: $(VENV)/dev.ready lint
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(VENV)/dev.ready
	$(BIN)/python -m pytest -n auto -m slow

lint: $(VENV)/dev.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(VENV)/dev.ready
	$(BIN)/python docs/generate.py

# What measuring costs, beside plain NumPy on dense arrays; a rise above the stored ratio is said.
perf: $(VENV)/dev.ready
	$(BIN)/python perf/measure.py --yardstick

# New pins from pyproject.toml; needs `uv` on the path.
lock:
	uv pip compile pyproject.toml --extra local --extra encoder --group build --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header --quiet -o requirements/run.lock
	uv pip compile pyproject.toml --all-extras --group dev --group build --universal \
	  --python-version 3.11 --constraint requirements/run.lock \
	  --generate-hashes --no-annotate --no-header --quiet -o requirements/dev.lock

$(VENV)/run.ready: requirements/run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "contextbias needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements/run.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/contextbias models fetch || echo "No weights for the embedded reader yet; \
	the demo needs none. Later: $(BIN)/contextbias models fetch"
	@touch $@

$(VENV)/dev.ready: requirements/dev.lock $(VENV)/run.ready
	@echo "Adding the development tools ..."
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@

clean:
	rm -rf $(VENV) build dist contextbias-demo
