"""Views: the registry as one walk sees it.

Owns the answer to "which rule takes a value of this type apart", for one
namespace in one of the two None modes. A view belongs to one snapshot of the
registry and never outdates: it answers for that snapshot only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple
from weakref import WeakValueDictionary

from .builtins import BUILTINS, INSERTION_ORDERED, structural_rule
from .frozen import Frozen
from .lock import Guard
from .node import Rule


__all__ = ["EMPTY", "GLOBAL", "Adopter", "DictOrder", "Layer", "Mode", "View"]

DictOrder = Literal["sorted", "insertion"]
GLOBAL: Final = ""
_MAX_SEEN = 4096
_MAX_NARROWED = 64


class Mode(NamedTuple):
    """What a treedef remembers of the call that made it."""

    namespace: str
    none_is_leaf: bool


_guard: Final = Guard()


def _first(known: WeakValueDictionary[type, Rule], cls: type, rule: Rule) -> Rule:
    """Return the rule that is known of a type, this one if none is.

    Two threads may have made one each; treedefs tell rules apart by identity, so all
    have to use the same one. The table looks and writes in two steps.
    """
    with _guard.lock:
        return known.setdefault(cls, rule)


class Adopter:
    """Asks somebody else for the rule of a type, and remembers the answer."""

    __slots__ = ("asked", "known")

    def __init__(self, asked: Callable[[type], Rule | None]) -> None:
        self.asked = asked
        self.known: WeakValueDictionary[type, Rule] = WeakValueDictionary()

    def __call__(self, cls: type) -> Rule | None:
        """Return the rule of a type, the same one as long as it is in use."""
        known = self.known.get(cls)
        found = self.asked(cls) if known is None else known
        return None if found is None else _first(self.known, cls, found)


class Layer(Frozen):
    """The registrations of one namespace; a rule of None makes a type a leaf.

    Adopters say what they know of a type that has no rule otherwise.
    """

    __slots__ = ("adopters", "dict_order", "inherited", "rules")
    __match_args__ = ("rules", "inherited", "dict_order", "adopters")

    rules: Mapping[type, Rule | None]
    inherited: frozenset[type]
    dict_order: DictOrder
    adopters: tuple[Adopter, ...]

    def __init__(
        self,
        rules: Mapping[type, Rule | None],
        inherited: frozenset[type] = frozenset(),
        dict_order: DictOrder = "sorted",
        adopters: tuple[Adopter, ...] = (),
    ) -> None:
        self._set(rules, inherited, dict_order, adopters)


EMPTY: Final = Layer({})


class View:
    """One namespace as a walk sees it: types to rules, and types known as leaves.

    Built from a snapshot and never outdated: it answers for that snapshot only.
    What it learns about further types it keeps, up to a bound.

    Attributes:
        mode: Namespace and None mode, for the treedefs made under this view.
        rules: Node types seen so far and their rules.
        leaf_types: Leaf types seen so far.
        context: What an operation walks by under this view, once made.
        leaf_treedef: The treedef of a bare leaf, once one was made.
        flattener: The function that walks trees under this view, once made.
        hot: For types of roots that were met often, a function that takes a
            tree apart faster than the walk, or returns None to leave it to it.
    """

    __slots__ = (
        "_fixed",
        "_layers",
        "_narrowed",
        "_stops",
        "context",
        "flattener",
        "hot",
        "leaf_treedef",
        "leaf_types",
        "mode",
        "rules",
    )

    def __init__(
        self, mode: Mode, layers: tuple[Layer, ...], stops: tuple[type, ...] = ()
    ) -> None:
        fixed = dict(BUILTINS)
        if layers[0].dict_order == "insertion":
            fixed |= INSERTION_ORDERED
        if mode.none_is_leaf:
            del fixed[type(None)]
        if stops:
            fixed = {
                cls: rule for cls, rule in fixed.items() if not issubclass(cls, stops)
            }
        self._fixed = fixed
        self._layers = layers
        self._stops = stops
        self._narrowed: dict[tuple[type, ...], View] = {}
        self.mode = mode
        self.rules: dict[type, Rule] = dict(fixed)
        self.leaf_types: set[type] = set()
        self.context: Any = None
        self.leaf_treedef: Any = None
        self.flattener: Callable[..., int] | None = None
        self.hot: dict[type, Callable[[Any], tuple[list[Any], Any] | None]] = {}

    def __call__(self, node: Any) -> bool:
        """Say whether a value is of the classes that this view stops at."""
        return issubclass(type(node), self._stops)

    def stopping_at(self, stops: tuple[type, ...]) -> View:
        """Return a view in which values of these classes are leaves as well.

        It is a predicate as well: who walks by it asks nothing, and who walks by
        another view may ask it of each node. What is a leaf in this view stays one.
        """
        view = self._narrowed.get(stops)
        if view is None:
            if len(self._narrowed) >= _MAX_NARROWED:
                self._narrowed.clear()
            made = View(self.mode, self._layers, self._stops + stops)
            view = self._narrowed.setdefault(stops, made)
        return view

    def resolve(self, cls: type) -> Rule | None:
        """Return the rule of a type, None for a leaf, and remember the answer."""
        rule = self.rules.get(cls)
        if rule is not None or cls in self.leaf_types:
            return rule
        if len(self.rules) + len(self.leaf_types) > _MAX_SEEN:
            self._forget()
        rule = self.find(cls)
        if rule is None:
            self.leaf_types.add(cls)
        else:
            self.rules[cls] = rule
        return rule

    def _forget(self) -> None:
        """Drop what was learned; walks that are under way just learn it again."""
        self.leaf_types.clear()
        for cls in [*self.rules]:
            if cls not in self._fixed:
                self.rules.pop(cls, None)

    def find(self, cls: type) -> Rule | None:
        """Return the rule of a type, None for a leaf."""
        if self._stops and issubclass(cls, self._stops):
            return None
        for layer in self._layers:
            if cls in layer.rules:
                return layer.rules[cls]
        if cls in BUILTINS:
            return self._fixed.get(cls)
        for base in cls.__mro__[1:]:
            for layer in self._layers:
                if base in layer.inherited:
                    return _derive(layer.rules[base], cls)
        rule = structural_rule(cls)
        return self._adopted(cls) if rule is None else rule

    def _adopted(self, cls: type) -> Rule | None:
        """Return the rule that somebody else knows for a type."""
        for layer in self._layers:
            for adopter in layer.adopters:
                rule = adopter(cls)
                if rule is not None:
                    return rule
        return None

    def registered(self, cls: type) -> Rule | None:
        """Return the rule that a type itself was registered with, if any."""
        for layer in self._layers:
            if cls in layer.rules:
                return layer.rules[cls]
        return None

    def is_registered_leaf(self, cls: type) -> bool:
        """Say whether a type itself was registered as a leaf."""
        found = [layer.rules[cls] for layer in self._layers if cls in layer.rules]
        return bool(found) and found[0] is None


def _derive(rule: Rule | None, cls: type) -> Rule | None:
    """Return the rule of a subclass, the same object each time."""
    if rule is None or rule.adapt is None:
        return None
    derived = rule.derived.get(cls) or rule.adapt(cls)
    return None if derived is None else _first(rule.derived, cls, derived)
