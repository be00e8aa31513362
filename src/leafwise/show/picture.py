"""Text that notebooks show as the picture it describes."""

from __future__ import annotations

from typing import Any


__all__ = ["Picture"]


class Picture(str):
    """A string; as the last expression of a cell, a notebook shows the picture.

    Args:
        text: The string.
        forms: What notebooks show for it, by media type; None for the string itself.

    Example:
        >>> from leafwise.show import to_svg
        >>> picture = to_svg({"lr": 0.1})
        >>> isinstance(picture, str), picture._repr_svg_() == picture
        (True, True)
    """

    __slots__ = ("_forms",)

    _forms: dict[str, str]

    # not by `__init__`: a string has its value when it is created
    def __new__(cls, text: str, forms: dict[str, str] | None = None) -> Picture:
        """Return the string, see the class."""
        picture = super().__new__(cls, text)
        picture._forms = forms or {}
        return picture

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": str(self), **self._forms}

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))  # IPython would print any str in quotes

    # for notebooks that do not ask for the bundle

    def _repr_html_(self) -> str | None:
        return self._forms.get("text/html")

    def _repr_svg_(self) -> str | None:
        return self._forms.get("image/svg+xml")
