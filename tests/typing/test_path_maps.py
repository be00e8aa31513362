"""`signatures/path_maps.py` is made from `maps.py` beside it; run this to make it anew.

The two differ in the functions that are mapped, which take a key path before leaves.
Nothing that can be said in types is shorter: a protocol that is generic in the first
parameters, `Protocol[Unpack[Ts]]` with `Callable[[Unpack[Ts], T], R]`, is understood by
pyright, but mypy 2.4 ends with an internal error.
"""

import re
from pathlib import Path

import leafwise as lw


FOLDER = Path(lw.__file__).parent / "signatures"
DOC = '''"""What type checkers see of functions that map with key paths.

Owns signatures alone; see `maps`, from which `tests/typing/test_path_maps.py` makes it.
"""
'''
CLASSES = ["Map", "Each", "BroadcastMap", "TransposeMap"]


def with_paths(text: str) -> str:
    """Return the text of the module whose functions take key paths."""
    _, _doc, code = text.split('"""', 2)
    for name in CLASSES:
        code = re.sub(rf"\b{name}\b", f"{name}WithPath", code)
    code = re.sub(r"\bdef (as_\w+)\(", r"def \1_with_path(", code)
    code = code.replace('"Callable[[T', '"Callable[[KeyPath, T')
    code = code.replace('"""Functions of the', '"""Functions of a key path and the')
    first = "    from ..core.treedef import"
    code = code.replace(first, f"    from ..core.keypath import KeyPath\n{first}")
    return DOC + code.removeprefix("\n")


def test_the_signatures_with_paths_are_those_without() -> None:
    """But for the first parameter of the functions."""
    plain = (FOLDER / "maps.py").read_text(encoding="utf-8")
    made = with_paths(plain)
    assert made.count("Callable[[KeyPath, ") == 3
    assert "class TransposeMapWithPath(" in made
    assert (FOLDER / "path_maps.py").read_text(encoding="utf-8") == made


if __name__ == "__main__":
    made = with_paths((FOLDER / "maps.py").read_text(encoding="utf-8"))
    (FOLDER / "path_maps.py").write_text(made, encoding="utf-8")
