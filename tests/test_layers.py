"""Imports point inwards, stand at the top of files, and never wait inside a function for a cycle to be over."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hashmix

ROOT = Path(hashmix.__file__).parent
# Inner to outer; what shares a line may not import each other.
LAYERS = [
    {"core"},
    {"data"},
    {"hashing"},
    {"priors", "components"},
    {"partition"},
    {"moves"},
    {"plot"},
    {"report"},
    {"posterior"},
    {"engines"},
    {"run"},
    {"problem"},
    {"spread_sampling"},
    {"sampling"},
    {"testing", "resolutions"},
    {"estimator_input"},
    {"estimator_spread"},
    {"estimator"},
    {"paper", "cli_data", "cli_engine", "cli_results"},
    {"cli"},
]
DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def layer_of(module: str) -> str:
    return module.split(".")[1]


def imports(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    """All hashmix modules a file imports, with the node that does."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node) for alias in node.names if alias.name.split(".")[0] == "hashmix"]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hashmix":
            names = [f"hashmix.{alias.name}" for alias in node.names] if node.module == "hashmix" else [node.module]
            found += [(name, node) for name in names]
    return found


def only_for_types(tree: ast.AST) -> set[ast.AST]:
    """Nodes below ``if TYPE_CHECKING``."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {node for block in blocks for node in ast.walk(block)}


def test_every_module_has_a_layer():
    assert {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} == set(DEPTH)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_inwards(path):
    mine = path.relative_to(ROOT).parts[0].removesuffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = only_for_types(tree)
    for module, node in imports(tree):
        if node in types or module == "hashmix":
            continue
        theirs = layer_of(module)
        if module.count(".") == 1 and theirs not in DEPTH:
            continue  # a public name of the package, such as hashmix.sample
        assert theirs == mine or DEPTH[theirs] < DEPTH[mine], f"{mine} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_import_of_hashmix_hides_in_a_function(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert not imports(function), f"{function.name} imports hashmix when it is called"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_inner_layers_do_not_need_the_whole_package(path):
    """Only the outermost modules may import the package itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.name not in ("cli.py", "command.py"):
        assert "hashmix" not in [module for module, _ in imports(tree)]
