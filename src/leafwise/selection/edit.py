"""Reading and editing what a selector means, without changing the tree.

Owns `at` and the functions beside it. Every edit gives a new tree, in which all that
was not touched is shared with the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.keypath import KeyPath
from ..core.keys import SequenceKey
from ..core.safely import type_name
from ..core.view import GLOBAL
from ..errors import EditError, PathError
from ..ops.outlook import outlook, take_apart
from ..sentinel import MISSING
from .find import Place, Scope, call_at
from .pattern import Region, Selector, fail, follow, read_selector, unique
from .rebuild import Delete, Edit, Insert, Set, key_for, rebuild


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = ["Selection", "at"]


class Selection:
    """Places in a tree, to be read or edited; `at` makes one.

    A selector in brackets goes on from there: `at(tree)["layers"][0]["w"]`.

    Attributes:
        tree: The tree.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "sizes": [64, 32]}
        >>> lw.at(config)["optim.lr"].set(0.2)
        {'optim': {'lr': 0.2, 'steps': 100}, 'sizes': [64, 32]}
        >>> lw.at(config)["sizes[*]"].apply(lambda size: 2 * size)["sizes"]
        [128, 64]
    """

    __slots__ = ("_missing_ok", "_places", "_scope", "_selectors", "tree")

    def __init__(
        self,
        tree: Any,
        selectors: tuple[Selector, ...],
        scope: Scope,
        *,
        missing_ok: bool,
    ) -> None:
        self.tree = tree
        self._selectors = selectors
        self._scope = scope
        self._missing_ok = missing_ok
        self._places: list[Place] | None = None

    def __getitem__(self, what: Any) -> Selection:
        """Go on with another selector, from each place."""
        chain = (*self._selectors, read_selector(what, self._scope.view))
        return Selection(self.tree, chain, self._scope, missing_ok=self._missing_ok)

    def __repr__(self) -> str:
        chain = "".join(f"[{part.text}]" for part in self._selectors)
        return f"<selection {chain} in {type_name(self.tree)}>"

    def places(self) -> list[Place]:
        """Return the places, in order.

        Raises:
            PathError: There are none, and `missing_ok` was not given.
        """
        if self._places is None:
            self._places = self._found()
        return self._places

    def _found(self) -> list[Place]:
        places = [Place((), self.tree)]
        is_level = True
        for part in self._selectors:
            below = [p for above in places for p in follow(above, part, self._scope)]
            if not is_level:  # one place may be inside another
                below = unique(below)
            is_level = is_level and part.is_level
            if not below and not self._missing_ok:
                fail(part, places[0], self._scope)
            places = below
        return places

    # -------------------------------------------------------------------- reading

    def get(self, default: Any = MISSING) -> Any:
        """Return what stands there: one value, or a list.

        A selector that means one place by its form (a path, or a pattern without
        wildcards) gives the value; any other gives a list of values.

        Args:
            default: What to return in the place of the one value, if it is missing.

        Raises:
            PathError: There is nothing.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> lw.at(tree)["a[0]"].get(), lw.at(tree)["a[*]"].get()
            (1, [1, 2])
            >>> lw.at(tree)["b"].get(default=0)
            0
        """
        if not all(part.means_one for part in self._selectors):
            return [place.value for place in self.places()]
        if default is MISSING:
            return self.one()
        try:
            return self.one() if self.places() else default
        except PathError:
            return default

    def one(self) -> Any:
        """Return the one value that is meant.

        Raises:
            PathError: There is none, or more than one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"lr": 0.1}, "b": 2})["**.lr"].one()
            0.1
        """
        places = self.places()
        if len(places) != 1:
            raise PathError(f"one place is wanted, {_told(places)}")
        return places[0].value

    def paths(self) -> list[KeyPath]:
        """Return the key paths.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.at({"a": {"w": 1}, "w": 2})["**.w"].paths()]
            ["['a']['w']", "['w']"]
        """
        return [place.path for place in self.places()]

    def items(self) -> list[tuple[KeyPath, Any]]:
        """Return the key paths with the values.

        Example:
            >>> import leafwise as lw
            >>> [(str(path), x) for path, x in lw.at({"a": [1, 2]})["a[-1]"].items()]
            [("['a'][1]", 2)]
        """
        return [(place.path, place.value) for place in self.places()]

    def count(self) -> int:
        """Return how many places there are.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].count()
            2
        """
        return len(self.places())

    def mask(self) -> Any:
        """Return the tree with True for each leaf that is meant, False for others.

        A leaf is meant if it stands at one of the places, or below.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2], "b": 3})["a"].mask()
            {'a': [True, True], 'b': False}
        """
        region = Region(self.places())
        _, treedef = take_apart(self.tree, self._scope.view, self._scope.stop)
        return treedef.unflatten([path in region for path in treedef.paths()])

    # -------------------------------------------------------------------- editing

    def _edited(self, make: Callable[[Place], Edit]) -> Any:
        places = self.places()
        edits = [(place.path, call_at(make, (place,), place)) for place in places]
        return rebuild(self.tree, edits, self._scope)

    def set(self, value: Any) -> Any:
        """Return the tree with a value at each place.

        Raises:
            EditError: A place is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at([1, [2, 3]])["[1]"].set("x")
            [1, 'x']
        """
        return self._edited(lambda _place: Set(value))

    def apply(self, f: Callable[[Any], Any]) -> Any:
        """Return the tree with the results of a function at each place.

        Args:
            f: Called with each value, in order, before anything is made. Its
                exceptions get a note of the path.

        Raises:
            EditError: A place is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].apply(lambda w: -w)
            {'a': {'w': -1}, 'w': -2}
        """
        return self._edited(lambda place: Set(f(place.value)))

    def delete(self) -> Any:
        """Return the tree without what stands at the places.

        Raises:
            EditError: A node cannot do without it, such as a tuple or dataclass.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2, 3], "b": 4})["a[0:2]"].delete()
            {'a': [3], 'b': 4}
        """
        return self._edited(lambda _place: Delete())

    def insert(self, value: Any) -> Any:
        """Return the tree with a value where there is nothing yet.

        The last step of the selector has to be a name, or a position: before what is
        there now, or at the end of the list.

        Raises:
            EditError: There is something already, or nothing can be inserted there.
            PathError: There is nothing to insert into.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 3]})["a[1]"].insert(2)
            {'a': [1, 2, 3]}
            >>> lw.at({"a": [1, 3]})["b"].insert(2)
            {'a': [1, 3], 'b': 2}
        """
        *outer, last = self._selectors
        above, key_in = last.split_last()
        holders = Selection(
            self.tree, (*outer, above), self._scope, missing_ok=self._missing_ok
        )
        edits = [
            (KeyPath((*place.path, self._new_key(place, key_in))), Insert(value))
            for place in holders.places()
        ]
        return rebuild(self.tree, edits, self._scope)

    def _new_key(self, place: Place, wanted: Any) -> Any:
        node, rule = place.value, self._scope.rule_of(place.value, place.path)
        if rule is None:
            raise EditError(
                f"nothing can be inserted into the leaf at {place.path.where()}",
                path=place.path,
            )
        key = key_for(node, rule, wanted)
        if key is None:
            raise EditError(
                f"nothing can be inserted at {str(wanted)!r} into the "
                f"{type(node).__name__} at {place.path.where()}",
                path=place.path,
            )
        if isinstance(key, SequenceKey) and hasattr(node, "__len__"):
            size = len(node)
            index = key.idx + size if key.idx < 0 else key.idx
            if not 0 <= index <= size:
                raise EditError(
                    f"{place.path.where()} has {size} item{'s' * (size != 1)}, so "
                    f"position {key.idx} is none to insert at",
                    path=place.path,
                )
            return SequenceKey(index)
        return key


def _told(places: Sequence[Place]) -> str:
    """Say how many places there are, and where."""
    if not places:
        return "and nothing is meant"
    shown = ", ".join(place.path.where() for place in places[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return f"and {len(places)} are meant: {shown}{more}"


# ------------------------------------------------------------------------ functions


class _At:
    """Waits for a selector in brackets."""

    __slots__ = ("_missing_ok", "_scope", "_tree")

    def __init__(self, tree: Any, scope: Scope, missing_ok: bool) -> None:
        self._tree = tree
        self._scope = scope
        self._missing_ok = missing_ok

    def __getitem__(self, what: Any) -> Selection:
        chain = (read_selector(what, self._scope.view),)
        return Selection(self._tree, chain, self._scope, missing_ok=self._missing_ok)


def at(
    tree: Any,
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> _At:
    """Return what takes selectors in brackets: `at(tree)[selector]`.

    Args:
        tree: Any tree. It is never changed.
        missing_ok: Whether a selector may mean nothing; an edit then gives the tree.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        An object that gives a `Selection` for a selector.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1, "bias": 2}, {"w": 3, "bias": 4}]}
        >>> lw.at(model)["layers[*].bias"].set(0)
        {'layers': [{'w': 1, 'bias': 0}, {'w': 3, 'bias': 0}]}
        >>> lw.at(model)["layers[-1].bais"].get()
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: nothing is meant by 'layers[-1].bais': the dict at \
['layers'][1] has ['bias'], ['w']

    The idea is that of `sepes.at` and of `penzai.select`.
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return _At(tree, Scope(view, stop), missing_ok)
