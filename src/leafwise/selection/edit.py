"""Read and edit the nodes and leaves that a selector picks; the tree is not changed.

Owns `at`, and the functions that edit several places at once, move, rename or point.
Every edit gives a new tree, which shares with the old one all that was not touched.
What a single edit does to a node is defined in `rebuild`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from ..lazy import Shown
from ..ops.context import Context, context_of
from ..safely import MISSING, type_name
from .rebuild import (
    Delete,
    Edit,
    Edited,
    Insert,
    Rename,
    Set,
    edited,
    item_key,
    rebuild,
)
from .select import (
    ANY,
    DEEP,
    END,
    Place,
    Region,
    Selector,
    Step,
    along,
    call_at,
    find,
    follow,
    has_kinds,
    is_function,
    is_number,
    no_match,
    read_selector,
    require,
    unique,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..hints import Tree, Value
    from ..ops.parallel import Parallel
    from ..typing import PyTree
else:
    Tree = TypeVar("Tree")
    Value = TypeVar("Value")

D = TypeVar("D")
T = TypeVar("T")


class Selection(Shown, Generic[Tree, Value]):
    """The selected nodes and leaves of a tree, to read or edit; `at` returns it.

    A further selector in brackets selects below them: `at(tree)["layers"][0]["w"]`.

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

    __slots__ = ("_context", "_missing_ok", "_places", "_selectors", "tree")

    if not TYPE_CHECKING:  # the second parameter has a default
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self,
        tree: Tree,
        selectors: tuple[Selector, ...],
        context: Context,
        *,
        missing_ok: bool,
    ) -> None:
        self.tree = tree
        self._selectors = selectors
        self._context = context
        self._missing_ok = missing_ok
        self._places: list[Place] | None = None

    @overload
    def __getitem__(
        self: Selection[Tree, list[T]], what: int
    ) -> Selection[Tree, T]: ...

    @overload
    def __getitem__(
        self: Selection[Tree, tuple[T, ...]], what: int
    ) -> Selection[Tree, T]: ...

    @overload
    def __getitem__(self, what: Any) -> Selection[Tree]: ...

    def __getitem__(self, what: Any) -> Any:
        """Continue with another selector from each place."""
        chain = (*self._selectors, read_selector(what, self._context.view))
        return Selection(self.tree, chain, self._context, missing_ok=self._missing_ok)

    def __repr__(self) -> str:
        chain = "".join(f"[{part.text}]" for part in self._selectors)
        return f"<selection {chain} in {type_name(self.tree)}>"

    def _leafwise_chosen(self) -> tuple[Tree, Context, list[KeyPath]]:
        """Return the tree, by what it is read, and the paths; for what is drawn."""
        return self.tree, self._context, self.paths()

    def places(self) -> list[Place]:
        """Return the selected places, in order.

        Raises:
            PathError: Nothing matches, and `missing_ok` is not set.
        """
        if self._places is not None:
            return self._places
        places = [Place((), self.tree)]
        is_level = True
        for part in self._selectors:
            below = [p for above in places for p in follow(above, part, self._context)]
            if not is_level:  # one place may be inside another
                below = unique(below)
            is_level = is_level and part.is_level
            if not (below or self._missing_ok or part.may_be_empty):
                raise no_match(part, places[0], self._context)
            places = below
        self._places = places
        return places

    # -------------------------------------------------------------------- reading

    @overload
    def get(self) -> Value: ...

    @overload
    def get(self, default: D) -> Value | D: ...

    def get(self, default: Any = MISSING) -> Any:
        """Return the selected value, or a list of values.

        A selector whose form allows only one match (a path, or a pattern without
        wildcards) gives the value. Any other selector gives a list of values.

        Args:
            default: The result if the only value is missing.

        Raises:
            PathError: There is no match.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> lw.at(tree)["a[0]"].get(), lw.at(tree)["a[*]"].get()
            (1, [1, 2])
            >>> lw.at(tree)["b"].get(default=0)
            0
        """
        if not all(part.is_single for part in self._selectors):
            return [place.value for place in self.places()]
        if default is MISSING:
            return self.one()
        try:
            return self.one() if self.places() else default
        except PathError:
            return default

    def one(self) -> Value:
        """Return the value of the only match.

        Raises:
            PathError: There is no match, or more than one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"lr": 0.1}, "b": 2})["**.lr"].one()
            0.1
        """
        places = self.places()
        if len(places) != 1:
            shown = ", ".join(place.path.where() for place in places[:5])
            more = f" and {len(places) - 5} more" if len(places) > 5 else ""
            found = f"{len(places)}: {shown}{more}" if places else "none"
            raise PathError(f"expected one match, found {found}")
        value: Value = places[0].value
        return value

    def paths(self) -> list[KeyPath]:
        """Return the key paths of the matches.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.at({"a": {"w": 1}, "w": 2})["**.w"].paths()]
            ["['a']['w']", "['w']"]
        """
        return [place.path for place in self.places()]

    def items(self) -> list[tuple[KeyPath, Value]]:
        """Return the key paths and the values of the matches.

        Example:
            >>> import leafwise as lw
            >>> [(str(path), x) for path, x in lw.at({"a": [1, 2]})["a[-1]"].items()]
            [("['a'][1]", 2)]
        """
        return [(place.path, place.value) for place in self.places()]

    def count(self) -> int:
        """Return the number of matches.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].count()
            2
        """
        return len(self.places())

    def mask(self) -> PyTree[bool]:
        """Return the tree with True for each selected leaf and False for the others.

        A leaf is selected if it is a match or is below a match.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2], "b": 3})["a"].mask()
            {'a': [True, True], 'b': False}
        """
        region = Region(self.places())
        _, treedef = self._context.flatten(self.tree)
        mask: PyTree[bool]
        mask = treedef.unflatten([path in region for path in treedef.paths()])
        return mask

    # -------------------------------------------------------------------- editing

    def _edited(self, make: Callable[[Place], Edit], validate: bool) -> Tree:
        places = self.places()
        edits = [(place.path, call_at(make, (place,), place)) for place in places]
        return edited(self.tree, edits, self._context, validate=validate)

    def set(self, value: Any, *, validate: bool = True) -> Tree:
        """Return the tree with each match replaced by a value.

        Args:
            value: The value.
            validate: Whether changed pydantic models and attrs instances run
                :ref:`the validation of their class <validated>`.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at([1, [2, 3]])["[1]"].set("x")
            [1, 'x']
        """
        return self._edited(lambda _place: Set(value), validate)

    def apply(
        self,
        f: Callable[[Value], Any],
        *,
        parallel: Parallel | None = None,
        validate: bool = True,
    ) -> Tree:
        """Return the tree with each match replaced by the result of a function.

        Args:
            f: Called with each value, in order, before anything is rebuilt. Its
                exceptions get a note that names the key path.
            parallel: The result of `leafwise.parallel`, to run the calls on an
                executor, to show progress, or to collect exceptions.
            validate: As for `set`.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].apply(lambda w: -w)
            {'a': {'w': -1}, 'w': -2}
            >>> slow = lw.parallel(errors="collect")
            >>> lw.at({"a": 1, "b": 0})["*"].apply(lambda x: 1 / x, parallel=slow)
            {'a': 1.0, 'b': ZeroDivisionError('division by zero')}
        """
        if parallel is None:
            return self._edited(lambda place: Set(f(place.value)), validate)
        values = [place.value for place in self.places()]
        results = map(Set, parallel._run(f, [values], self.paths))
        edits = zip(self.paths(), results, strict=True)
        return edited(self.tree, edits, self._context, validate=validate)

    def delete(self, *, validate: bool = True) -> Tree:
        """Return the tree without the matches.

        Args:
            validate: As for `set`.

        Raises:
            EditError: A node has a fixed number of children, such as a dataclass.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2, 3], "b": 4})["a[0:2]"].delete()
            {'a': [3], 'b': 4}
        """
        return self._edited(lambda _place: Delete(), validate)

    def insert(self, value: Any, *, validate: bool = True) -> Tree:
        """Return the tree with a value inserted at a path that does not exist yet.

        The last step of the selector must be a name or a position. At a position, the
        value is inserted before the item that is there, or at the end of the list,
        which is also `[+]`.

        Args:
            value: The value.
            validate: As for `set`.

        Raises:
            EditError: The path exists already, or nothing can be inserted there.
            PathError: The parent does not exist.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 3]})["a[1]"].insert(2)
            {'a': [1, 2, 3]}
            >>> lw.at({"a": [1, 3]})["b"].insert(2)
            {'a': [1, 3], 'b': 2}
        """
        edits = self._insertions(value)
        return edited(self.tree, edits, self._context, validate=validate)

    def _insertions(self, value: Any) -> list[tuple[KeyPath, Edit]]:
        *outer, last = self._selectors
        steps = last.steps or (ANY._replace(text=last.text),)
        chain = (*outer, along(last.text, steps[:-1]))
        above = Selection(self.tree, chain, self._context, missing_ok=self._missing_ok)
        return insertions(above.places(), steps[-1], value, self._context)


def insertions(
    holders: Iterable[Place], step: Step, value: Any, context: Context
) -> list[tuple[KeyPath, Edit]]:
    """Return the edits that insert a value into some nodes.

    Args:
        holders: The nodes.
        step: The last step to the new child, of which the node decides the kind of key.
        value: The value.
        context: What is a leaf.

    Raises:
        EditError: There can be no such child.
    """
    if step.key is None:
        raise EditError(
            f"cannot insert at {step.text!r}: its last step is not a single key"
        )
    edits: list[tuple[KeyPath, Edit]] = []
    for holder in holders:
        node, path, key = holder.value, holder.path, step.key
        where = path.where()
        rule = context.rule_of(node, path)
        if rule is None:
            raise EditError(f"cannot insert into the leaf at {where}", path=path)
        cls: Any = item_key(node, rule) or GetAttrKey
        if type(key) is str and (cls is not SequenceKey or is_number(key)):
            key = cls(int(key) if cls is SequenceKey else key)
        elif type(key) is SequenceKey and cls is DictKey and key is not END:
            key = DictKey(key.idx)
        if type(key) is not cls and not (type(key) is GetAttrKey and has_kinds(node)):
            kind = type(node).__name__
            raise EditError(
                f"cannot insert at {step.text!r} into the {kind} at {where}", path=path
            )
        if type(key) is SequenceKey:
            size = len(node)
            place = size if key is END else key.idx + size * (key.idx < 0)
            if not 0 <= place <= size:
                raise EditError(
                    f"cannot insert at position {key.idx}: {where} has {size} "
                    f"item{'s' * (size != 1)}",
                    path=path,
                )
            key = SequenceKey(place)
        edits.append((path_below(path, key), Insert(value)))
    return edits


# ------------------------------------------------------------------------ functions


def at(
    tree: Tree,
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Selection[Tree, Tree]:
    """Select nodes or leaves of a tree to read or edit: `at(tree)[selector]`.

    Args:
        tree: Any tree. It is never changed.
        missing_ok: Whether a selector may have no match; an edit then returns the tree
            unchanged.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A `Selection` of the whole tree, to be indexed with a selector.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1, "bias": 2}, {"w": 3, "bias": 4}]}
        >>> lw.at(model)["layers[*].bias"].set(0)
        {'layers': [{'w': 1, 'bias': 0}, {'w': 3, 'bias': 0}]}
        >>> lw.at(model)["layers[-1].bais"].get()
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: no match for 'layers[-1].bais': the dict at \
['layers'][1] has ['bias'], ['w']

    Modelled on `sepes.at` and `penzai.select`.
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return Selection(tree, (), context, missing_ok=missing_ok)


# ----------------------------------------------- many edits at once, moves and names


def tree_update(
    tree: Tree,
    edits: Mapping[Any, Any],
    *,
    missing_ok: bool = False,
    validate: bool = True,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Tree:
    """Apply several edits to a tree in one pass and return the new tree.

    Args:
        tree: Any tree.
        edits: For each selector, the value to set, which may be a function or a class.
            All selectors apply to `tree` as it is before the edits. To apply a function
            to the old values, use `at(tree)[selector].apply`.
        missing_ok: Whether a selector may have no match.
        validate: Whether changed pydantic models and attrs instances run
            :ref:`the validation of their class <validated>`.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: Two selectors pick the same node or leaf, or one inside the other.
        PathError: A selector has no match.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "a"}
        >>> lw.selection.tree_update(config, {"**.lr": 0.01, "name": "b"})
        {'optim': {'lr': 0.01, 'steps': 100}, 'name': 'b'}
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    listed: list[tuple[KeyPath, Edit]] = []
    for what, value in edits.items():
        chosen = read_selector(what, context.view)
        places = require(chosen, tree, context, missing_ok=missing_ok)
        listed += [(place.path, Set(value)) for place in places]
    return edited(tree, listed, context, validate=validate)


def tree_move(
    tree: Tree,
    source: Any,
    target: Any,
    *,
    validate: bool = True,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Tree:
    """Move a node or leaf to another path in a tree.

    Args:
        tree: Any tree.
        source: A selector with one match.
        target: A path that does not exist in the tree without the source.
        validate: As for `tree_update`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: The target exists already, or a node does not allow the edit.
        PathError: The source does not have exactly one match, or the parent of the
            target does not exist.

    Example:
        >>> import leafwise as lw
        >>> config = {"lr": 0.1, "optim": {"steps": 100}}
        >>> lw.selection.tree_move(config, "lr", "optim.lr")
        {'optim': {'steps': 100, 'lr': 0.1}}
    """
    context = context_of(none_is_leaf=none_is_leaf, namespace=namespace)
    record = Edited(validate)
    place = Selection(tree, (), context, missing_ok=False)[source]
    value = place.one()
    removal = [(path, Delete()) for path in place.paths()]
    without = rebuild(tree, removal, context, record)
    there = Selection(without, (), context, missing_ok=False)[target]
    insertions = there._insertions(value)
    moved = rebuild(without, insertions, context, record)
    record.complete()
    return moved


def tree_rename(
    tree: Tree,
    what: Any,
    name: Any,
    *,
    validate: bool = True,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Tree:
    """Rename keys of dicts or attributes of objects.

    Dicts keep their order.

    Args:
        tree: Any tree.
        what: A selector of the children to rename.
        name: The new key, or a function from the old key to the new one.
        validate: As for `tree_update`.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: The key exists already, or a node does not allow the edit.
        PathError: The selector has no match.

    Example:
        >>> import leafwise as lw
        >>> model = {"a": {"kernel": 1}, "b": {"kernel": 2}}
        >>> lw.selection.tree_rename(model, "**.kernel", "w")
        {'a': {'w': 1}, 'b': {'w': 2}}
        >>> lw.selection.tree_rename({"Lr": 1, "Wd": 2}, "*", str.lower)
        {'lr': 1, 'wd': 2}
    """
    context = context_of(none_is_leaf=none_is_leaf, namespace=namespace)

    def renamed(path: KeyPath) -> Rename:
        if not path:
            raise EditError("the root has no key to rename", path=path)
        old = path[-1].entry
        return Rename(name(old) if is_function(name, context.view) else name)

    places = require(read_selector(what, context.view), tree, context)
    edits = [(place.path, renamed(place.path)) for place in places]
    return edited(tree, edits, context, validate=validate)


def tree_at(
    where: Callable[[Tree], Any],
    tree: Tree,
    replace: Any = MISSING,
    *,
    replace_fn: Callable[[Any], Any] | None = None,
    validate: bool = True,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Tree:
    """Replace the nodes or leaves that a function returns from a tree.

    Args:
        where: Takes the tree and returns a node or leaf in it, or a tuple or list of
            several. It is called with a tree of the same structure and other leaves, so
            it cannot depend on them. At most one empty tuple can be replaced.
        tree: Any tree.
        replace: The new value. If `where` returns a tuple or list of nodes or leaves,
            the same number of new values.
        replace_fn: A function from the old value to the new one, instead of `replace`.
        validate: As for `tree_update`.
        is_leaf: Where to stop: a type, types, or a predicate. None is a leaf.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: `where` returns something that is not in the tree or that appears in
            several places, or two of its results overlap.
        TypeError: Both `replace` and `replace_fn` are given, or neither.
        ValueError: The number of values differs from the number of results of `where`.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1}, {"w": 3}]}
        >>> lw.selection.tree_at(lambda m: m["layers"][1]["w"], model, 5)
        {'layers': [{'w': 1}, {'w': 5}]}
        >>> lw.selection.tree_at(lambda m: m["layers"], model, replace_fn=len)
        {'layers': 2}

    Modelled on `equinox.tree_at`.
    """
    if (replace is MISSING) == (replace_fn is None):
        raise TypeError("tree_at takes either replace or replace_fn")
    context = context_of(is_leaf, none_is_leaf=True, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    marked = treedef.unflatten([object() for _ in leaves])
    known: dict[int, list[KeyPath]] = {id(marked): [KeyPath()]}
    for place in find(marked, (DEEP, ANY), context.plain):
        known.setdefault(id(place.value), []).append(place.path)
    pointed: Any = where(marked)
    several = isinstance(pointed, tuple | list) and id(pointed) not in known
    chosen = []
    for number, one in enumerate(pointed if several else [pointed]):
        found = known.get(id(one), [])
        if len(found) != 1:
            which = f"item {number} of the" if several else "the"
            places = ", ".join(path.where() for path in found[:3])
            wrong = f"occurs several times: {places}" if found else "is not in the tree"
            raise EditError(f"{which} result of where ({type_name(one)}) {wrong}")
        chosen.append(found[0])
    values = [path(tree, namespace=namespace) for path in chosen]
    if replace_fn is not None:
        new = [*map(replace_fn, values)]
    else:
        new = [*replace] if several else [replace]
    if len(new) != len(chosen):
        raise ValueError(
            f"where returned {len(chosen)} results, but there are {len(new)} values"
        )
    edits = [*zip(chosen, map(Set, new), strict=True)]
    return edited(tree, edits, context, validate=validate)
