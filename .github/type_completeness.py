"""Which share of the public names has complete types: ``types.py 0.95`` fails if it is less. Called by ``make types``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"


def main() -> int:
    """Run pyright on the package and compare the share with the one asked for."""
    asked = float(sys.argv[1])
    options = ["--pythonpath", sys.executable, "--verifytypes", "hashmix", "--ignoreexternal", "--outputjson"]
    command = [sys.executable, "-m", "pyright", *options]
    # Elsewhere than in the repository, where pyright would take the package for part of a project without types.
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not ran.stdout.startswith("{"):
        sys.exit(f"pyright said no figures: {ran.stdout}{ran.stderr}")
    found = json.loads(ran.stdout)["typeCompleteness"]
    for symbol in found["symbols"]:
        if not symbol["isTypeKnown"] and "-v" in sys.argv:
            print(symbol["name"], *(each["message"] for each in symbol["diagnostics"][:1]))
    print(f"{found['completenessScore']:.1%} of the public names have complete types; {asked:.0%} are asked for")
    return int(found["completenessScore"] < asked)


if __name__ == "__main__":
    sys.exit(main())
