"""The plugin that pytest loads: trees that are not equal are explained path by path.

It stands outside the package, since pytest imports it at each start: leafwise is loaded
when an assertion about two trees has failed, and not before.
"""

from __future__ import annotations

from typing import Any


_PLAIN = (str, bytes, int, float, complex, type(None), set, frozenset)


def pytest_assertrepr_compare(
    config: Any, op: str, left: object, right: object
) -> list[str] | None:
    """Return what there is to say about two trees, None about anything else."""
    if op != "==" or isinstance(left, _PLAIN) or isinstance(right, _PLAIN):
        return None
    try:
        from leafwise.testing.plugin import explain  # noqa: PLC0415  # now it is needed

        return explain(left, right, most=None if config.option.verbose > 1 else 20)
    except Exception:  # an assertion must fail for what it says
        return None
