"""Files of the repository outside of the package: scripts, and the reference."""

import importlib.util
import re
import sys
from importlib import import_module
from pathlib import Path


ROOT = Path(__file__).parents[2]


def load_module(path):
    """Return the module of a file; the path is relative to the repository."""
    name = "loaded_" + re.sub(r"\W", "_", path)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look up their module there
        spec.loader.exec_module(module)
    return sys.modules[name]


def listed_names():
    """Return the names in `docs/reference` whose modules can be imported here.

    The engine may be deleted, and numpy may be missing.
    """
    entries = []
    for entry in load_module("docs/_ext/listing.py").entries():
        try:
            import_module(entry.module)
        except ModuleNotFoundError as error:
            if error.name not in {"leafwise.engine", "numpy"}:
                raise
        else:
            entries.append(entry)
    return entries
