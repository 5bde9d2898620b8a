# Every target sets up what it needs: a virtual environment in .venv, with the exact versions of
# constraints.txt. Only Python >= 3.11, make and git have to be there.

PYTHON ?= python3
BIN := .venv/bin
SET_UP := .venv/.set-up
DEMO := .venv/.demo
# Data sets beside the repository are used where no others are named.
export DGTREES_DATA ?= $(wildcard $(CURDIR)/../shared/datasets)

.PHONY: demo test check bench accuracy agreement bandit paper paper-smoke tables docs refresh format \
	release-check clean help

help:
	@echo "make demo      a tree, a policy and a picture in a minute or so: results in demo/"
	@echo "make test      the test suite"
	@echo "make check     style, types, architecture, documentation"
	@echo "make bench     speed, as ratios measured side by side"
	@echo "make accuracy  the default recipe on the paper's data sets (needs the data: DGTREES_DATA)"
	@echo "make refresh   run the examples of README and docs; write what they print, and their pictures"
	@echo "make bandit    the same as streams of queries, 3 seeds"
	@echo "make paper     every table and figure of the paper, cheapest runs first; stop and go on at will"
	@echo "make tables    our defaults beside other models on ordinary tables (needs DGTREES_DATA)"
	@echo "make paper-smoke  the same on bundled data, in a minute or two"
	@echo "make release-check  sdist and wheel: reproducible, complete, and working in clean environments"
	@echo "make agreement leaves of Python, files, ONNX and C, 110,000 rows a model"

VENV = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "dgtrees needs Python >= 3.11: call make with PYTHON=/path/to/python3.11" >&2; exit 1; }; \
	$(PYTHON) -m venv .venv
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(SET_UP): pyproject.toml constraints.txt
	@$(VENV)
	$(INSTALL) -e '.[dev]'
	@touch $@ $(DEMO)

# No torch, no tests, no benchmarks: 0.8 GB instead of 2.8.
$(DEMO): pyproject.toml constraints.txt
	@$(VENV)
	$(INSTALL) -e '.[plot]'
	@touch $@

demo: $(DEMO)
	$(BIN)/python examples/demo.py

test: $(SET_UP)
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

check: $(SET_UP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet

format: $(SET_UP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

refresh: $(SET_UP)
	$(BIN)/python -m docs.refresh

# Interpreters to install the wheel into, and what to hand to the script.
PYTHONS ?= $(PYTHON)
release-check:
	$(PYTHON) release/check.py --python $(PYTHONS) $(RELEASE)

docs: $(SET_UP)
	$(BIN)/mkdocs serve

bench: $(SET_UP)
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.bandit_speed
	$(BIN)/python -m benchmarks.readers

accuracy: $(SET_UP)
	$(BIN)/dgt paper run --table 1 --table 2 --method dgt-default

agreement: $(SET_UP)
	$(BIN)/python -m benchmarks.agreement

bandit: $(SET_UP)
	$(BIN)/dgt paper run --figure 2 --figure 3 --table 6 --seeds 3

paper: $(SET_UP)
	$(BIN)/dgt paper run
	$(BIN)/dgt paper report

paper-smoke: $(SET_UP)
	$(BIN)/dgt paper run --smoke --results "$$(mktemp -d)"

tables: $(SET_UP)
	$(BIN)/python -m benchmarks.tables run
	$(BIN)/python -m benchmarks.tables run --suite raw --seeds 3
	$(BIN)/python -m benchmarks.tables report

clean:
	rm -rf .venv site demo .pytest_cache .ruff_cache .mypy_cache .hypothesis
