# Every target sets up what it needs in .venv; a bare clone needs Python 3.11 or newer, make, and the package index.
PYTHON ?= python3
JOBS ?= 2
COUNT ?= 100000
SEED ?= 0
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --quiet --disable-pip-version-check

FRAMEWORKS := tests/test_readme.py::test_a_document_shows_what_happens[docs/frameworks.md]

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-long test-vulkan test-opencl test-aarch64 test-gpu test-torch test-jax lint types bless generate docs fuzz fuzz-cpu fuzz-one-lane fuzz-ptx fuzz-races bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/ready-to-run ## flash attention and a GEMM on NumPy arrays, and what a broken kernel is told
	@$(RUN) examples/demo.py

# Without .pyc files each process of the tests, of which there are hundreds, would compile girih and the tests again.
test test-long test-vulkan test-opencl test-aarch64 test-gpu test-torch test-jax: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/ready-to-develop ## all tests, with the coverage of lines and of rules
	@$(RUN) -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

test-long: $(VENV)/ready-to-develop ## all that make test has, and the rest: every seed, every combination
	@$(RUN) -m pytest -m "" -n $(JOBS) --dist worksteal --cov --cov-report=term

test-vulkan: $(VENV)/ready-to-develop ## what needs a Vulkan driver; GIRIH_VULKAN_DRIVER names one
	@$(RUN) -m pytest -m vulkan -n 0 tests/runtime/vulkan

test-opencl: $(VENV)/ready-to-develop ## what needs an OpenCL driver that takes SPIR-V, every run vector among it
	@$(RUN) -m pytest -m "" -n 0 tests/runtime/opencl

test-aarch64: $(VENV)/ready-to-develop ## run vectors, kernels and launches on AArch64 under QEMU; about an hour on two cores
	@$(RUN) -m tests.aarch64 --jobs $(JOBS)

test-gpu: $(VENV)/ready-to-develop $(VENV)/ready-to-launch ## what needs an NVIDIA GPU, in watched processes; a few minutes. PART, SAVE=--save
	@$(RUN) -m tests.gpu $(addprefix --part ,$(PART)) $(SAVE)

test-torch: $(VENV)/ready-to-develop $(VENV)/ready-for-torch ## girih.torch and its page, with PyTorch
	@$(RUN) -m pytest -n 0 tests/torch '$(FRAMEWORKS)'

test-jax: $(VENV)/ready-to-develop $(VENV)/ready-for-jax ## girih.jax and its page, with JAX
	@$(RUN) -m pytest -n 0 tests/jax '$(FRAMEWORKS)'

lint: $(VENV)/ready-to-develop ## ruff: rules and layout
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .

types: $(VENV)/ready-to-develop ## mypy, strict
	@$(RUN) -m mypy

bless: $(VENV)/ready-to-develop ## rewrite the golden files from today's output; read the difference before you commit
	@GIRIH_BLESS=1 $(RUN) -m pytest tests/ir tests/cli tests/back/nvptx/test_golden.py tests/test_readme.py

generate: $(VENV)/ready-to-develop ## write what is generated: reference, examples, grammar, pictures
	@$(RUN) tools/generate_spirv_grammar.py
	@$(RUN) tools/generate_spirv_examples.py
	@$(RUN) tools/generate_docs.py
	@$(RUN) tools/draw_pictures.py
	@$(RUN) tools/generate_grammar.py

docs: generate $(VENV)/ready-to-document ## generate, then build build/docs/index.html; every warning is an error
	@rm -rf build/docs
	@$(RUN) -m sphinx -W --keep-going -q -E -j $(JOBS) -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

fuzz: $(VENV)/ready-to-develop ## random programs for a long time; COUNT=100000 SEED=0, JOBS processes
	@$(RUN) -m tests.fuzz.long --count $(COUNT) --seed $(SEED) --jobs $(JOBS)

fuzz-cpu: $(VENV)/ready-to-develop ## random programs compiled for the CPU against the interpreter; COUNT, SEED, JOBS as above
	@$(RUN) -m tests.fuzz.long --executor cpu --count $(COUNT) --seed $(SEED) --jobs $(JOBS)

fuzz-one-lane: $(VENV)/ready-to-develop ## random programs of work-items, each a thread; COUNT, SEED as above
	@$(RUN) -m tests.back.one_lane.random_programs --count $(COUNT) --seed $(SEED)

fuzz-ptx: $(VENV)/ready-to-develop ## the same in PTX, executed by the machine of the tests; COUNT, SEED as above
	@$(RUN) -m tests.back.nvptx.random_programs --count $(COUNT) --seed $(SEED)

fuzz-races: $(VENV)/ready-to-develop ## random programs with and without races, judged by two ways; SEED, JOBS as above
	@$(RUN) -m tests.fuzz.races.long --free 10000 --planted 1250 --seed $(SEED) --jobs $(JOBS)

bench: $(VENV)/ready-to-run ## measure, as ratios
	@$(RUN) benchmarks/language/run.py

clean: ## remove everything that make and the tools made
	@rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* htmlcov
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make the second call instant; a change of pyproject.toml installs again.
$(RUN):
	@command -v $(PYTHON) >/dev/null || { \
	  echo "girih needs Python 3.11 or newer; there is no '$(PYTHON)' here. Try: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "girih needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	       "Try: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu the package python3-venv is missing."; exit 1; }

$(VENV)/ready-to-run: pyproject.toml | $(RUN)
	@$(PIP) install --editable .
	@touch $@

$(VENV)/ready-to-develop: pyproject.toml | $(RUN)
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/ready-to-run

$(VENV)/ready-to-launch: pyproject.toml | $(RUN)
	@$(PIP) install --editable '.[cuda]'
	@touch $@ $(VENV)/ready-to-run

$(VENV)/ready-for-torch $(VENV)/ready-for-jax: $(VENV)/ready-for-%: pyproject.toml | $(RUN)
	@$(PIP) install --editable '.[$*]'
	@touch $@

$(VENV)/ready-to-document: pyproject.toml | $(RUN)
	@$(PIP) install --editable '.[docs]'
	@touch $@ $(VENV)/ready-to-run
