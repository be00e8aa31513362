import json
from pathlib import Path

import leafwise as lw
from settings import build


flat = json.loads(Path("run.json").read_text(encoding="utf-8"))
before = lw.selection.from_flat(flat)
now = build("large.yaml", ["model.dropout=0.2"])
print(lw.tree_diff(before, now) or "nothing changed")
