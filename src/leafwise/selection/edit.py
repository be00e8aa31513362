"""Read and edit the nodes and leaves that a selector picks; the tree is not changed.

`at` returns a `Selection`; the other functions edit several places at once, move,
rename or point. What an edit does not touch is shared with the given tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import length_hint
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .._hooks import Displayable
from .._records import MISSING
from .._text import short_repr
from ..core.context import Context, context_of, plain_context
from ..core.keypath import ROOT, KeyPath, Link
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef, memo_of
from ..core.walk import locate
from ..errors import EditError, PathError
from .changes import Delete, Edit, Edited, Rename, Set, edited, insertions, rebuild
from .patterns import ANY, DEEP, place_text
from .prefix import kept_prefix
from .select import (
    Place,
    Selector,
    along,
    few,
    find,
    is_function,
    read_selector,
    takes_path,
)
from .targets import Targets, find_targets, replace_all, replace_targets, search


if TYPE_CHECKING:
    from .._typing import IsLeaf, PyTree, T, Tree, Value
else:
    Tree = TypeVar("Tree")
    Value = TypeVar("Value")


# ----------------------------------------------------------------- what is selected


class Selection(Displayable, Generic[Tree, Value]):
    """The selected nodes and leaves of a tree, to read or edit; `at` returns it.

    A further selector in brackets selects below them: `at(tree)["layers"][0]["w"]`.

    Attributes:
        tree: The tree.
        context: What is a leaf of it.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "sizes": [64, 32]}
        >>> lw.at(config)["optim.lr"].set(0.2)
        {'optim': {'lr': 0.2, 'steps': 100}, 'sizes': [64, 32]}
        >>> lw.at(config)["sizes[*]"].apply(lambda size: 2 * size)["sizes"]
        [128, 64]
    """

    __slots__ = ("_known_targets", "_missing_ok", "_selectors", "context", "tree")

    if not TYPE_CHECKING:  # the second parameter has a default
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self,
        tree: Tree,
        selectors: tuple[Selector, ...],
        context: Context,
        missing_ok: bool = False,
    ) -> None:
        self.tree: Tree = tree
        self._selectors = selectors
        self.context: Context = context
        self._missing_ok = missing_ok
        self._known_targets: Targets | None = None

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
        selector = read_selector(what, self.context.view)
        selectors = (*self._selectors, selector)
        return Selection(self.tree, selectors, self.context, self._missing_ok)

    if not TYPE_CHECKING:  # a type checker reports these itself

        def __setitem__(
            self,
            what: Any,
            value: Any,
        ) -> None:
            """Refuse an assignment: a selection does not change its tree."""
            text = short_repr(what)
            raise TypeError(
                f"a selection is not assigned to: at(tree)[{text}].set(value) returns "
                "the new tree"
            )

        def __delitem__(self, what: Any) -> None:
            """Refuse a deletion: a selection does not change its tree."""
            text = short_repr(what)
            raise TypeError(
                f"nothing is deleted from a selection: at(tree)[{text}].delete() "
                "returns the new tree"
            )

        def __iter__(self) -> Iterator[Any]:
            """Refuse a loop; without this, Python would count up indices for ever."""
            raise self._not_iterated()

        def __contains__(self, _value: Any) -> bool:
            """Refuse `in`, for which Python hides the error of `__iter__`."""
            raise self._not_iterated()

        def _not_iterated(self) -> TypeError:
            return TypeError(
                "a selection is not iterated: its .get() returns what is selected, "
                ".paths() where that is, and .items() both"
            )

        def _refuse_operator(self, _other: Any) -> None:
            raise TypeError(
                "a selection is not the selected value: read it by .get(), or change "
                "it by .apply(f), which returns the new tree"
            )

        __add__ = __radd__ = _refuse_operator
        __sub__ = __rsub__ = _refuse_operator
        __mul__ = __rmul__ = _refuse_operator
        __truediv__ = __rtruediv__ = _refuse_operator

    def __repr__(self) -> str:
        chain = "".join(f"[{part.text}]" for part in self._selectors)
        return f"<selection {chain} in {type(self.tree).__name__}>"

    @property
    def _targets(self) -> Targets:
        """What is selected.

        Raises:
            PathError: Nothing matches, and `missing_ok` is not set.
        """
        targets = self._known_targets
        if targets is None:
            targets = find_targets(
                self.tree, self._selectors, self.context, missing_ok=self._missing_ok
            )
            self._known_targets = targets
        return targets

    def places(self) -> list[Place]:
        """Return the selected places, in order.

        Raises:
            PathError: Nothing matches, and `missing_ok` is not set.
        """
        targets = self._targets
        rows = zip(targets.paths(), targets.values(), strict=True)
        return [Place(path, value) for path, value in rows]

    # -------------------------------------------------------------------- reading

    @overload
    def get(self) -> Value: ...

    @overload
    def get(self, default: T) -> Value | T: ...

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
        if not all(selector.is_single for selector in self._selectors):
            return self._targets.values()
        if default is MISSING:
            return self.one()
        try:
            return self.one() if self._targets.count() else default
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
        values = self._targets.values()
        if len(values) == 1:
            return values[0]  # type: ignore[no-any-return]
        count = "none"
        if values:
            places = [place_text(path) for path in self._targets.paths()]
            count = f"{len(values)}: {few(places)}"
        raise PathError(f"expected one match, found {count}")

    def paths(self) -> list[KeyPath]:
        """Return the key paths of the matches.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.at({"a": {"w": 1}, "w": 2})["**.w"].paths()]
            ["['a']['w']", "['w']"]
        """
        return list(self._targets.paths())

    def items(self) -> list[tuple[KeyPath, Value]]:
        """Return the key paths and the values of the matches.

        Example:
            >>> import leafwise as lw
            >>> [(str(path), x) for path, x in lw.at({"a": [1, 2]})["a[-1]"].items()]
            [("['a'][1]", 2)]
        """
        targets = self._targets
        pairs = zip(targets.paths(), targets.values(), strict=True)
        return list(pairs)

    def count(self) -> int:
        """Return the number of matches.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].count()
            2
        """
        return self._targets.count()

    def mask(self) -> PyTree[bool]:
        """Return the tree with True for each selected leaf and False for the others.

        A leaf is selected if it is a match or is below a match.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2], "b": 3})["a"].mask()
            {'a': [True, True], 'b': False}
        """
        flat = self.context.flatten(self.tree)
        targets = self._known_targets
        if targets is None:
            targets = find_targets(
                self.tree,
                self._selectors,
                self.context,
                missing_ok=self._missing_ok,
                flat=flat,
            )
        treedef = flat[1]
        return treedef.unflatten(targets.flags(treedef))  # type: ignore[no-any-return]

    # -------------------------------------------------------------------- editing

    def set(self, value: Any) -> Tree:
        """Return the tree with each match replaced by a value.

        Args:
            value: The value.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at([1, [2, 3]])["[1]"].set("x")
            [1, 'x']
        """
        targets = self._targets
        return self._replaced(targets, [value] * targets.count())

    def _replaced(
        self,
        targets: Targets,
        values: list[Any],
    ) -> Tree:
        return replace_targets(self.tree, targets, values, self.context)  # type: ignore[no-any-return]

    def apply(
        self, f: Callable[[Value], Any] | Callable[[KeyPath, Value], Any]
    ) -> Tree:
        """Return the tree with each match replaced by the result of a function.

        Args:
            f: Called with each value, in order, before anything is rebuilt; with path
                and value, if it takes two arguments. Its exceptions get a note that
                names the key path.

        Raises:
            EditError: A match is inside another one.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": {"w": 1}, "w": 2})["**.w"].apply(lambda w: -w)
            {'a': {'w': -1}, 'w': -2}
            >>> lw.at({"a": 1, "b": 2})["*"].apply(lambda path, x: path[-1].key * x)
            {'a': 'a', 'b': 'bb'}
        """
        targets = self._targets
        return self._replaced(targets, _call_each(f, targets))

    def delete(self) -> Tree:
        """Return the tree without the matches.

        Raises:
            EditError: A node has a fixed number of children, such as a dataclass.

        Example:
            >>> import leafwise as lw
            >>> lw.at({"a": [1, 2, 3], "b": 4})["a[0:2]"].delete()
            {'a': [3], 'b': 4}
        """
        edits = [(place, Delete()) for place in self._targets.links()]
        return edited(self.tree, edits, self.context)

    def insert(self, value: Any) -> Tree:
        """Return the tree with a value inserted at a path that does not exist yet.

        The last step of the selector must be a name or a position. At a position, the
        value is inserted before the item that is there, or at the end of the list,
        which is also `[+]`.

        Args:
            value: The value.

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
        edits = _insertion_edits(
            self.tree, self._selectors, value, self.context, self._missing_ok
        )
        return edited(self.tree, edits, self.context)


def _insertion_edits(
    tree: Any,
    selectors: Sequence[Selector],
    value: Any,
    context: Context,
    missing_ok: bool = False,
) -> list[tuple[KeyPath, Edit]]:
    """Return the edits that insert a value at what would be selected."""
    *outer, last = selectors
    steps = last.steps or (ANY._replace(text=last.text),)
    parents = (*outer, along(last.text, steps[:-1]))
    places = search(tree, parents, context, missing_ok=missing_ok)
    return insertions(places, steps[-1], value, context)


def _call_each(f: Callable[..., Any], targets: Targets) -> list[Any]:
    """Call a function on targets; its exceptions get a note of the path."""
    arguments: list[list[Any]] = [targets.values()]
    if takes_path(f):
        arguments.insert(0, targets.paths())
    first = iter(arguments[0])  # says after an exception how far the calls came
    try:
        return list(map(f, first, *arguments[1:]))
    except EditError:  # which names its path
        raise
    except Exception as error:
        number = len(arguments[0]) - length_hint(first) - 1
        locate(error, targets.paths()[number])
        raise


# ------------------------------------------------------------------------ functions


def at(
    tree: Tree,
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Selection[Tree, Tree]:
    """Select nodes or leaves of a tree to read or edit: `at(tree)[selector]`.

    Args:
        tree: Any tree. It is never changed.
        missing_ok: Whether a selector may have no match; an edit then returns the tree
            unchanged.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
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
        leafwise.errors.PathError: no match for 'layers[-1].bais': did you mean \
layers[-1].bias? the dict at layers[1] has bias, w

    Modelled on `sepes.at` and `penzai.select`.
    """
    context = context_of(is_leaf, namespace=namespace)
    return Selection(tree, (), context, missing_ok)


# ----------------------------------------------- many edits at once, moves and names


def tree_update(
    tree: Tree,
    edits: Mapping[Any, Any],
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Tree:
    """Apply several edits to a tree in one pass and return the new tree.

    Args:
        tree: Any tree.
        edits: For each selector, the value to set, which may be a function or a class.
            All selectors apply to `tree` as it is before the edits. To apply a function
            to the old values, use `at(tree)[selector].apply`.
        missing_ok: Whether a selector may have no match.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
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
    context = context_of(is_leaf, namespace=namespace)
    selectors = [read_selector(what, context.view) for what in edits]
    flat = None
    if not all(selector.is_single for selector in selectors):
        # once for all of them; paths alone take less time without
        flat = context.flatten_compiled(tree)
    pairs: list[tuple[Targets, Sequence[Any]]] = []
    for selector, value in zip(selectors, edits.values(), strict=True):
        targets = find_targets(
            tree, (selector,), context, missing_ok=missing_ok, flat=flat
        )
        pairs.append((targets, [value] * targets.count()))
    return replace_all(tree, pairs, context)  # type: ignore[no-any-return]


def tree_move(
    tree: Tree,
    source: Any,
    target: Any,
    *,
    namespace: str = GLOBAL,
) -> Tree:
    """Move a node or leaf to another path in a tree.

    Args:
        tree: Any tree.
        source: A selector with one match.
        target: A path that does not exist in the tree without the source.
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
    context = context_of(namespace=namespace)
    record = Edited()  # objects are validated when both edits are done
    selection = Selection(tree, (), context)[source]
    value = selection.one()
    deletions = [(path, Delete()) for path in selection.paths()]
    smaller_tree = rebuild(tree, deletions, context, record)
    selectors = [read_selector(target, context.view)]
    additions = _insertion_edits(smaller_tree, selectors, value, context)
    new_tree = rebuild(smaller_tree, additions, context, record)
    record.validate()
    return new_tree


def tree_rename(
    tree: Tree,
    what: Any,
    name: Any,
    *,
    namespace: str = GLOBAL,
) -> Tree:
    """Rename keys of dicts or attributes of objects.

    Dicts keep their order.

    Args:
        tree: Any tree.
        what: A selector of the children to rename.
        name: The new key, or a function from the old key to the new one.
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
    context = context_of(namespace=namespace)
    is_called = is_function(name, context.view)
    targets = find_targets(tree, (read_selector(what, context.view),), context)
    edits: list[tuple[KeyPath | Link, Edit]] = []
    for place in targets.links():
        if isinstance(place, KeyPath):
            key = place[-1] if place else None
        else:
            key = place.key
        if key is None:
            raise EditError("the root has no key to rename", path=ROOT)
        new_name = name(key.entry) if is_called else name
        edits.append((place, Rename(new_name)))
    return edited(tree, edits, context)


def tree_at(
    where: Callable[[Tree], Any],
    tree: Tree,
    replace: Any = MISSING,
    *,
    replace_fn: Callable[[Any], Any] | None = None,
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
    # Leaves may occur twice, or be equal. In their place `where` gets objects that are
    # like no other, so what it returns is found by its id.
    markers = [object() for _ in leaves]
    marked: Any = treedef.unflatten(markers)
    pointed: Any = where(marked)
    numbers = _pointed_leaves(pointed, marked, markers, treedef)
    if numbers is None:
        paths, is_several = _pointed_paths(pointed, marked, context)
    else:
        all_paths = treedef.paths()
        paths = [all_paths[number] for number in numbers]
        is_several = isinstance(pointed, tuple | list)
    if replace_fn is not None:
        values = [replace_fn(path(tree, namespace=namespace)) for path in paths]
    else:
        values = list(replace) if is_several else [replace]
    if numbers is not None and memo_of(treedef) is not None:
        prefix = kept_prefix(treedef, ("leaves", *numbers), lambda: paths)
        if prefix.allows_edits:
            return prefix.replace(tree, leaves, treedef, values)  # type: ignore[no-any-return]
    edits = zip(paths, map(Set, values), strict=True)
    return edited(tree, edits, context)


def _pointed_leaves(
    pointed: Any,
    marked: Any,
    markers: list[Any],
    treedef: PyTreeDef,
) -> list[int] | None:
    """Return which leaves `where` returned, None if it returned anything else.

    Args:
        pointed: What it returned.
        marked: The tree that it was called with.
        markers: The leaves of that tree.
        treedef: Its structure.
    """
    numbers_by_id = {id(marker): number for number, marker in enumerate(markers)}
    is_several = isinstance(pointed, tuple | list)
    items = pointed if is_several else (pointed,)
    if not all(id(item) in numbers_by_id for item in items):
        return None
    numbers = [numbers_by_id[id(item)] for item in items]
    if not numbers:  # an empty tuple is a node
        return None
    if is_several:  # or is it a node, of which these are the children?
        path = treedef.paths()[numbers[0]]
        if path.parent(marked, namespace=treedef.namespace) is pointed:
            return None
    return numbers


def _pointed_paths(
    pointed: Any,
    marked: Any,
    context: Context,
) -> tuple[list[KeyPath], bool]:
    """Return the paths of the nodes and leaves that `where` returned.

    Returns:
        The paths, and whether it returned a tuple or list of several.

    Raises:
        EditError: It returned something that is not in the tree, or in several places.
    """
    places_by_id: dict[int, list[Place]] = {}
    places_by_id[id(marked)] = [Place(ROOT, marked)]
    for place in find(marked, (DEEP, ANY), plain_context(context.view)):
        places_by_id.setdefault(id(place.value), []).append(place)
    is_several = isinstance(pointed, tuple | list) and id(pointed) not in places_by_id
    paths: list[KeyPath] = []
    for item in pointed if is_several else [pointed]:
        places = places_by_id.get(id(item), [])
        if len(places) != 1:
            problem = "is not in the tree"
            if places:
                texts = [place_text(place.path) for place in places[:3]]
                problem = f"occurs several times: {', '.join(texts)}"
            raise EditError(f"where returned a {type(item).__name__} that {problem}")
        paths.append(places[0].path)
    return paths, is_several
