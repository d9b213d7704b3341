"""Where every benchmark leaves its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_results(name: str, results: dict[str, Any]) -> None:
    path = Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
    print(f"wrote {path}")
