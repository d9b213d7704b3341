# Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test test-slow test-cuda lint types format docs evidence dist benchmark clean

demo: .venv/.installed
	$(BIN)/python examples/demo.py

test: .venv/.installed
	$(BIN)/python -m pytest -n auto --dist loadfile

test-slow: .venv/.installed
	$(BIN)/python -m pytest -m slow

# With PyTorch, which no other target installs. Runs on the CPU; make test-cuda HASHMIX_TEST_DEVICE=cuda runs on a GPU.
test-cuda: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,cuda]'
	$(BIN)/python -m pytest tests/engines/test_cuda.py tests/engines/test_truth.py

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# At least 95 % of the public names have complete types.
types: .venv/.installed
	$(BIN)/python .github/type_completeness.py 0.95

format: .venv/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in docs/_build/html; all examples of the gallery run. Links within it are checked: a broken one is a warning, and warnings are errors.
docs: .venv/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Figures that README and docs publish, and the tables made of them; ARGS=--quick for those that take minutes.
evidence: .venv/.installed
	$(BIN)/python benchmarks/evidence.py $(ARGS)

# The same bytes at every build of the same commit.
dist: .venv/.installed
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

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

.venv/.installed-docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
