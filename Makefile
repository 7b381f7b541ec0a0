# Each target sets up what it needs: a fresh clone and Python 3.11 or newer are enough.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
export OMP_WAIT_POLICY = PASSIVE
export PYTHONHASHSEED = 0

.PHONY: demo test soak bench check docs app audit clean

demo: .venv/.demo
	$(BIN)/tprprobe demo

app: .venv/.demo
	$(BIN)/tprprobe app $(RUNS)

test: check
	$(BIN)/pytest -n 2 --dist loadfile

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(MAKE) docs

# The book, in site/: about 11 s of processor time. A warning (a dead link, a page in no list) ends the build.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean

soak: .venv/.dev
	$(BIN)/pytest -m soak

# NAMES="kmeans tpgn" runs some; AUTHORS=PATH, a checkout of github.com/ischlag/TP-Transformer, and
# TPDN=PATH, one of github.com/tommccoy1/tpdn, measure beside their code.
bench: .venv/.dev
	$(BIN)/python benchmarks/record.py $(NAMES) $(if $(AUTHORS),--authors $(AUTHORS)) $(if $(TPDN),--tpdn $(TPDN))

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch -e '.[app,mathematics,summarization,train]'
	touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch -e '.[dev]'
	touch $@ .venv/.demo

# Known holes in what is installed (asks PyPI), and its bill of materials, in .venv/sbom.json.
audit: .venv/.dev
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	.venv/audit/bin/cyclonedx-py environment .venv --output-file .venv/sbom.json
	.venv/audit/bin/pip-audit --strict --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

clean:
	rm -rf .venv runs
