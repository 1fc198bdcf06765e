# make demo and make test set up .venv by themselves; everything else is a convenience.
PYTHON ?= python3.11
VENV := .venv
RUN := $(VENV)/bin

.PHONY: setup fmt check test test-all bench demo clean

$(VENV)/.ready: pyproject.toml
	command -v $(PYTHON) >/dev/null || { echo "mrprep needs Python 3.11: install it, or say make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

setup: $(VENV)/.ready

fmt: setup
	$(RUN)/ruff check --fix --quiet mrprep tests bench samples || true
	$(RUN)/ruff format --quiet mrprep tests bench samples

check: setup
	$(RUN)/ruff format --check --quiet mrprep tests bench samples
	$(RUN)/ruff check mrprep tests bench samples
	$(RUN)/mypy

test: setup
	$(RUN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m 'not slow'

test-all: setup
	$(RUN)/python -m pytest

bench: setup
	$(RUN)/python bench/build.py

demo: setup
	$(RUN)/python samples/demo.py

clean:
	rm -rf $(VENV) build dist demo-out .mypy_cache .ruff_cache
