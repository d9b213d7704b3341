"""Fail if fewer public names have complete types than asked: ``type_completeness.py types.json 0.95``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

score = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["typeCompleteness"]["completenessScore"]
print(f"{score:.1%} of the public names have complete types; {float(sys.argv[2]):.0%} are asked for")
sys.exit(score < float(sys.argv[2]))
