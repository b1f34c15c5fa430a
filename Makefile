# The README's two commands are `make demo` and `make test`.
# Everything runs in the virtual environment $(VENV), made on first use; PYTHON=... takes another interpreter to make it.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

# CuPy for the driver that is here, if one is: `nvidia-smi` names the newest CUDA version that the driver supports.
CUDA_MAJOR := $(shell nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -1)
CUDA_EXTRA := $(if $(CUDA_MAJOR),$(if $(filter 12,$(CUDA_MAJOR)),cuda12,cuda13))
comma := ,
CUDA_SOURCES := git ls-files '*.cu' '*.cuh'

# Quick tests are compiled with few optimisations, so their machine code is kept apart from that of users.
TESTS := $(BIN)/pytest -n 2 --dist worksteal -m "not gpu"
QUICK_CACHE ?= $(CURDIR)/.cache/quick
# So is byte code, of tests and of what they start, also where Python is told to write none: each worker would make it anew.
QUICK := NUMBA_OPT=1 SURICATE_CACHE_DIR=$(QUICK_CACHE) PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/.cache/bytecode
COMMIT ?= $(shell git rev-parse HEAD)

.PHONY: demo docs test test-all test-share soak faults lint format wheel-check wheel-lowest wheel-pythons code-wheel compile-cuda compile-cuda-all gpu-test gpu-test-all sanitize sanitize-emulated bench map map-page clean

# What both call is compiled ahead, side by side, for 20 s at most; what is left of the second goes on beside the first.
DEMO = $(BIN)/suricate demo --graph examples/demo/mathoverflow.txt.xz --algorithm bfs --algorithm wcc

demo: $(VENV)/.demo
	@rm -f results/demo.jsonl
	@echo "Compiling what the two demos use, for 20 s at most; the next time it is there"
	@nice $(DEMO) --repeats 1 --time-limit 0 --output /dev/null > /dev/null 2>&1 & \
	    SURICATE_QUIET=1 timeout 20 $(BIN)/python examples/demo/demo.py --compile; \
	    SURICATE_QUIET=1 $(BIN)/python examples/demo/demo.py && wait
	@SURICATE_QUIET=1 $(DEMO) --time-limit 0.1

# The quick tier in two parts side by side, so that no core waits for the last test of one: tests of small graphs as plain
# Python, and everything else, compiled.
test: $(VENV)/.dev
	@log=$$(mktemp) && trap 'kill $$other 2> /dev/null; rm -f $$log' EXIT; trap 'exit 130' INT TERM; \
	    NUMBA_DISABLE_JIT=1 $(QUICK) $(TESTS) $(ARGS) > $$log 2>&1 & other=$$!; \
	    echo "Part 1 of 2: all but small graphs, compiled"; $(QUICK) $(TESTS) --compiled-part $(ARGS); compiled=$$?; \
	    wait $$other; plain=$$?; echo "Part 2 of 2: small graphs as plain Python"; cat $$log; \
	    exit $$((compiled ? compiled : plain))

test-all: compile-cuda-all
	$(TESTS) --tier=all $(ARGS)

# What the quick tier leaves out, in parts; the commit picks one. It finds what the quick tier has compiled.
test-share: $(VENV)/.dev
	$(QUICK) $(TESTS) --share-of=$(COMMIT) $(ARGS)

# Whether the quick tier sees forty planted faults; ARGS="--tier all" asks all tests, which takes hours.
faults: $(VENV)/.dev
	$(BIN)/python .ci/faults.py $(ARGS)

soak: $(VENV)/.dev
	$(BIN)/pytest --tier=soak -m "not gpu" $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CUDA_SOURCES) | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/codespell
	$(BIN)/python .ci/typecheck.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CUDA_SOURCES) | xargs $(BIN)/clang-format -i

wheel-check: $(VENV)/.dev
	$(BIN)/python .ci/check_wheel.py

# Before a release: the wheel with the lowest dependencies; and whether those of other Pythons, and of aarch64, are there.
wheel-lowest: $(VENV)/.dev
	$(BIN)/python .ci/check_wheel.py --lowest

wheel-pythons: $(VENV)/.dev
	$(BIN)/python .ci/check_wheel.py --pythons

# The packages of machine code, suricate-code-cpu and suricate-code-cuda, in dist/ (minutes; the second has all programs with
# PROGRAMS=FILE, which `.ci/code_wheel.py record` writes on a machine with a GPU).
code-wheel: $(VENV)/.dev
	$(BIN)/python -P .ci/code_wheel.py cpu
	$(BIN)/python -P .ci/code_wheel.py cuda $(if $(PROGRAMS),--programs $(PROGRAMS))

# All programs with default options; of what other options, cursors and weights change, the part of the commit.
compile-cuda: $(VENV)/.dev
	$(BIN)/python .ci/compile_cuda.py --share-of=$(COMMIT)

compile-cuda-all: $(VENV)/.dev
	$(BIN)/python .ci/compile_cuda.py

gpu-test: $(VENV)/.dev
	$(QUICK) $(BIN)/pytest -n auto --dist worksteal -m gpu $(ARGS)

gpu-test-all: $(VENV)/.dev
	$(BIN)/pytest -m gpu --tier=all $(ARGS)

# CuPy's own kernels are left out: racecheck warns about the warp-synchronous code of its nonzero().
SANITIZE = SURICATE_LINE_INFO=1 compute-sanitizer --kernel-name-exclude kernel_substring=cupy_ --error-exitcode 9 --tool

# Without the tool first: under it compiling takes many times as long.
sanitize: $(VENV)/.dev
	SURICATE_LINE_INFO=1 $(BIN)/python .ci/sanitize.py
	$(SANITIZE) memcheck $(BIN)/python .ci/sanitize.py
	$(SANITIZE) racecheck $(BIN)/python .ci/sanitize.py --part tour --part answers --part events

# The same tour without a GPU, by g++'s sanitizers: what kernels read and write outside of arrays, and loads that are not aligned.
sanitize-emulated: $(VENV)/.dev
	$(BIN)/python .ci/sanitize_emulated.py $(BIN)/python .ci/sanitize.py $(ARGS)

# The site, in build/site: a folder per version (those of others stay), and index.html, which leads to the newest. A warning is
# an error. The first time takes a minute or two on a quiet machine.
SITE_VERSION = $(shell sed -n 's/^version = "\([0-9]*\.[0-9]*\).*/\1/p' pyproject.toml)

docs: $(VENV)/.docs
	CUDA_VISIBLE_DEVICES= $(BIN)/sphinx-build -q -W --keep-going -c docs -d build/doctrees -b html . build/site/$(SITE_VERSION)

bench: $(VENV)/.dev
	$(BIN)/suricate bench $(ARGS)

# The crossover map of this machine: MACHINE=NAME names its files, DEVICE=cpu or cuda, ARGS="--graph ..." other graphs. It can
# be interrupted: again, it goes on. `make map-page` alone makes data, page and pictures of what has been measured.
MACHINE ?= this-machine
DEVICE ?= auto

map: $(VENV)/.dev
	$(BIN)/suricate bench --suite crossover --device $(DEVICE) --output bench/figures/$(MACHINE)/crossover.jsonl --resume $(ARGS)
	$(MAKE) map-page

map-page: $(VENV)/.dev
	$(BIN)/suricate bench --report bench/figures/$(MACHINE)/crossover.jsonl --save-map core/plugins/maps/$(MACHINE).json
	$(BIN)/suricate bench --report bench/figures/*/crossover.jsonl --page docs/crossover.md

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable ".$(if $(CUDA_EXTRA),[$(CUDA_EXTRA)])"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable ".[dev$(if $(CUDA_EXTRA),$(comma)$(CUDA_EXTRA))]"
	touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build dist docs/reference *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
