"""Only the test of the fuzzer is collected, not its parts."""

from pathlib import Path


collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("*.py")
    if not path.name.startswith(("test_", "__init__"))
]
