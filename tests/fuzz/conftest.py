"""Only the test of the fuzzer is collected, not its parts; it needs numpy."""

import importlib.util
from pathlib import Path


kept = ("test_", "__init__") if importlib.util.find_spec("numpy") else ("__init__",)
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("*.py")
    if not path.name.startswith(kept)
]
