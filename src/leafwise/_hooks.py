"""Slots through which a lower package calls an upper one.

A package never imports one above it. What it needs from there is a slot of `hooks`: the
upper package fills it when it is loaded. `Hooks` describes each slot: what it is for,
who fills it, and what happens while it is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final


class Hooks:
    """The slots. There is one object of this class, `hooks`.

    Attributes:
        runner: The runner of new treedefs: how they build and match trees. Filled by
            `core.walk` with the reference walk, replaced by the engine.
        observe: Called with a tree that was walked: the tree, its leaves, its treedef,
            the view, and the predicate or None. Filled by the engine, which counts
            structures. Without it, nothing is compiled.
        skip: How many walks to let pass before `observe` is called. Counted down by
            the caller, since a call takes as long as walking a node or two. Set by the
            engine; without it, the number is infinite.
        prefix_runner: Called with a treedef that is a prefix of a compiled structure;
            returns a compiled runner for it, or None. Filled by the engine. Without
            it, prefixes are walked.
        prefix_uses: How often a prefix is used before it is compiled. Set by the
            engine.
        reader: Called with the shape of an object of `nn` and the name of the attribute
            that caches its aux data; returns None, or two compiled functions: one that
            flattens such objects, and one from their children and static values to
            their `__dict__`. Filled by the engine. Without it, `nn` reads and builds
            objects attribute by attribute.
        registry_changed: Functions to call after each change of the registry; several
            threads may call them at once. Filled by the engine and by `nn.checks`,
            which forget what they derived from the old registry.
        types_forgotten: Functions to call when the registry forgets the types that it
            learned, so that unused classes can be garbage-collected. Filled by the
            engine, which drops the compiled structures with these types.
        class_announced: Functions to call with each class that other frameworks should
            know as a node. Filled by `integrations.bridge`. Without them, only leafwise
            knows the class.
        foreign_nodes: Functions that take a value; they return the name of a framework
            that knows it as a node and a function that flattens it, or None. Filled by
            `integrations`. Without them, `nn` takes such a value for a leaf.
        trace_level: Returns a token that is the same at the same level of tracing, and
            only there. Filled by `integrations.jax`, when jax is imported. While it is
            None, nothing is traced, and `nn` checks no levels.
        outer_level: The token of the level outside of all transforms.
        replaced_modules: The modules of other libraries whose place in `sys.modules` a
            stand-in has taken, by name. Filled by `compat`. Bridges use these modules,
            and not the stand-ins.
        imported_modules: Names of modules that are complete although their import has
            not returned yet. Filled by `integrations.bridge`, which is called at the
            end of an import. Modules that are not here count as incomplete while they
            are being imported.
        file_of: Takes a value; returns the config file that it was read from, None if
            that is unknown. Filled by `configs`. Errors of merges name the file.
        painter: Takes `"auto"`, `"always"` or `"never"` and the file to print to;
            returns a function that adds colours to a text. Filled by
            `leafwise/__init__`, which loads `show`. Diffs are printed with it.
        to_html, to_rich: Return an object of leafwise as a page of HTML, and as lines
            for rich. Filled by `leafwise/__init__`, which loads `show`. See
            `Displayable`.
    """

    runner: Any = None
    observe: Callable[..., None]
    skip: float = math.inf
    prefix_runner: Callable[[Any], Any] | None = None
    prefix_uses: float = math.inf
    reader: Callable[[Any, str], tuple[Any, Any] | None] | None = None
    trace_level: Callable[[], Any] | None = None
    outer_level: Any = None
    file_of: Callable[[Any], str | None] | None = None
    painter: Callable[[str, Any], Callable[[str, str], str]]
    to_html: Callable[[Any], str]
    to_rich: Callable[[Any, Any], Iterable[Any]]

    def __init__(self) -> None:
        self.registry_changed: list[Callable[[], None]] = []
        self.types_forgotten: list[Callable[[], None]] = []
        self.class_announced: list[Callable[[type], None]] = []
        self.foreign_nodes: list[Callable[[Any], tuple[str, Any] | None]] = []
        self.replaced_modules: dict[str, ModuleType] = {}
        self.imported_modules: set[str] = set()

    def announce(self, cls: type) -> None:
        """Announce a class that other frameworks should know as a node."""
        for register in self.class_announced:
            register(cls)


hooks: Final = Hooks()


class Description:
    """What lower packages ask of the objects of an upper one, class by class.

    A class with such objects has its description as the attribute `__leafwise__`;
    `description_of` returns it. The methods here are the answers of a class for which
    its registration says enough.

    Attributes:
        has_kinds: Whether an object knows the kind of each of its attributes and items,
            so that edits can set, add and remove those that are static, too.
    """

    has_kinds: bool = False

    def outline(self, obj: Any) -> Any:
        """Return the `Sketch` of an object, or None if its node type says enough.

        Asked by texts, diagrams and pages.
        """
        return None

    def contents(self, obj: Any, kind: Any) -> Any:
        """Return the children of an object with their kinds, as `Contents`, or None.

        Asked by summaries.

        Args:
            obj: The object.
            kind: The kind of the attribute that holds it.
        """
        return None

    def compared(self, obj: Any) -> Any:
        """Return the value by which objects are compared, or `NotImplemented`.

        Asked by fingerprints.
        """
        return NotImplemented

    def marked(self, obj: Any, key: Any, value: Any) -> Any:
        """Return a value of an object, marked with its kind where it has one.

        Asked by edits that move a value to another key.
        """
        return value

    def make_dataclass(self, options: dict[str, Any]) -> type[Any]:
        """Make the class a dataclass; asked only if it has kinds.

        Args:
            options: Options of `dataclasses.dataclass`.
        """
        raise NotImplementedError


def description_of(cls: type) -> Description | None:
    """Return the description of a class, None if it has none."""
    return getattr(cls, "__leafwise__", None)


class Displayable:
    """Base of our classes that notebooks and rich display.

    A class that implements one of these methods itself is displayed that way.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return hooks.to_html(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterable[Any]:
        """Return the lines of the text, as wide as rich's console."""
        return hooks.to_rich(self, options)
