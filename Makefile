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
	  --python-version 3.11 --constraint requirements/run.lock --constraint requirements/torch.txt \
	  $(addprefix --no-emit-package ,$(TORCH_BRINGS)) \
	  --generate-hashes --no-annotate --no-header --quiet -o requirements/dev.lock

# What a wheel of PyTorch for CUDA asks for; the locks leave it to whichever wheel is installed.
TORCH_BRINGS := torch triton cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas \
  nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft \
  nvidia-cufile nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 \
  nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx

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

# PyTorch stands apart: its builds (CPU, CUDA) carry one version and different hashes. Without a GPU,
# make test TORCH="--index-url https://download.pytorch.org/whl/cpu torch==2.13.0" saves gigabytes.
TORCH ?= -r requirements/torch.txt

$(VENV)/dev.ready: requirements/dev.lock requirements/torch.txt $(VENV)/run.ready
	@echo "Adding the development tools ..."
	@$(PIP) install $(TORCH)
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@touch $@

clean:
	rm -rf $(VENV) build dist contextbias-demo
