# make demo | demo-deploy | test | test-all | lint | docs | wheel | bench | micro-check | insight-check | clean. All set up .venv first, once.
# PYTEST_ARGS, COMPARE_ARGS and BENCH_ARGS are passed on: make test PYTEST_ARGS=tests/architecture

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMP := $(VENV)/installed
EXAMPLE := migration_examples/digits_cnn
DIGITS := $(EXAMPLE)/data/MNIST/raw/t10k-labels-idx1-ubyte

PYTEST_ARGS ?=
COMPARE_ARGS ?=
BENCH_ARGS ?=
KERNELS ?=
# on the CPU; benchmarks/cuda.py measures a GPU
BENCHMARKS := training larger_models first_step short_programs kernels products convolutions ops \
	scaling compilers data_cache data_parallel sharded tensor_parallel parallel_plan serving debugger_cost

# modules are compiled to byte code once, not in each of the processes that tests start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo demo-deploy test test-all test-plain lint docs wheel bench clean micro-check insight-check
.DELETE_ON_ERROR:

# and the commonest kernels, which tests do not read: they count what is compiled
setup: $(STAMP) $(VENV)/share/mindtorch/kernels

# anew where the form of compiled files has changed, which jit.py numbers
$(VENV)/share/mindtorch/kernels: kernels/codegen/jit.py | $(STAMP)
	@echo "the commonest kernels are compiled, about a minute on two cores; they may be left out (Ctrl-C)"
	-$(BIN)/python -m mindtorch warm --installed && touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11, 3.12 or 3.13 found; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torchvision's wheels are built against a CUDA torch; without --no-deps it could replace the CPU one.
# Real torchvision therefore does not import beside real torch (its operators need that build); under
# mindtorch it does. docs/compare.md says how to have both.
$(STAMP): constraints.txt pyproject.toml | $(BIN)/python
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable '.[test,cache,distributed,serving,insight]'
	$(PIP) torch pillow
	$(PIP) --no-deps torchvision
	-$(BIN)/python -m compileall -q -q mindtorch engine kernels tools
	touch $@

$(DIGITS): $(EXAMPLE)/make_digits.py | $(STAMP)
	$(BIN)/python $(EXAMPLE)/make_digits.py --root $(EXAMPLE)/data

demo: $(DIGITS) | $(STAMP)
	$(BIN)/python -m mindtorch compare $(COMPARE_ARGS) $(EXAMPLE)/train.py

TEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# train, export, convert, quantise, serve, ask: one table
demo-deploy: | $(STAMP)
	$(BIN)/python migration_examples/deploy_digits/run.py

# what CI runs; PYTEST_ARGS chooses among them (-x stops at the first failure and shows it)
test: $(STAMP)
	@echo "about 10 minutes on two cores the first time, when kernels are compiled; 6 after that"
	$(TEST) -m 'not exhaustive' $(PYTEST_ARGS)

# also the tests marked exhaustive: every table in full, whole commands, libraries
test-all: $(STAMP)
	$(TEST) $(PYTEST_ARGS)

# the tables of ops with every mechanism off (docs/guide/wrong-number.md): the plain way alone
test-plain: $(STAMP)
	MINDTORCH_CALL_CACHE=0 MINDTORCH_VJP_CACHE=0 MINDTORCH_FUSION=0 MINDTORCH_LAZY=0 \
	MINDTORCH_KERNEL_SUBSTITUTION=0 MINDTORCH_GRAD_BUFFER_REUSE=0 MINDTORCH_COMPILE=0 MINDTORCH_PRODUCTS=0 \
		$(TEST) -m 'not exhaustive' $(PYTEST_ARGS) tests/tables/test_ops.py

# generated C code on emulated ARM64 and Cortex-M4; needs Debian's cross compilers (docs/micro.md)
micro-check: $(STAMP)
	$(BIN)/python -m tests.lite.micro.devices

# the pages of `mindtorch insight` in a browser; needs Debian's chromium and chromium-driver
# (docs/insight.md). Screenshots lie in build/insight.
insight-check: $(STAMP)
	$(PIP) selenium
	$(BIN)/python -m tests.insight.browser

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

# the pages and the reference as a site: build/docs/index.html; a link that leads nowhere fails
docs: $(STAMP)
	$(PIP) --no-build-isolation --editable '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees docs build/docs

# dist/mindtorch_engine-VERSION-py3-none-any.whl; with KERNELS="icelake-server znver4" also the commonest
# kernels for these processors (docs/environment.md, MINDTORCH_PROCESSOR), with which the first step of a
# program compiles next to nothing: minutes for each, and a wheel for this platform and version of numba
wheel: $(STAMP)
	rm -rf build/kernels
	for processor in $(KERNELS); do MINDTORCH_PROCESSOR=$$processor MINDTORCH_INSTALLED_KERNELS=0 \
		MINDTORCH_CACHE_DIR=build/kernels $(BIN)/python -m mindtorch warm || exit 1; done
	MINDTORCH_WHEEL_KERNELS=$(if $(KERNELS),build/kernels) $(BIN)/python -m hatchling build -t wheel

bench: $(STAMP)
	@for name in $(BENCHMARKS); do echo "-- $$name"; \
		$(BIN)/python "benchmarks/$$name.py" $(BENCH_ARGS) || exit 1; done

clean:
	rm -rf $(VENV) build dist docs/api $(EXAMPLE)/data
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
