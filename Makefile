# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test test-slow lint format benchmark clean

demo: .venv/.installed
	$(BIN)/python examples/demo.py

test: .venv/.installed
	$(BIN)/python -m pytest -n auto --dist loadfile

test-slow: .venv/.installed
	$(BIN)/python -m pytest -m slow

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: .venv/.installed
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/hashing.py
	$(BIN)/python benchmarks/hashed_moves.py
	$(BIN)/python benchmarks/convergence.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/peers.py

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hashmix needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache
