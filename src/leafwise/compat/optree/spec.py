"""`PyTreeSpec`: the structure of a tree, as optree has it, around a `PyTreeDef`.

Owns what such an object answers, and how structures of several namespaces are joined.
A treedef says everything else; it is not copied.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable
from typing import Any, Self

from ..._text import typed_repr
from ...core.matching import code_text
from ...core.registry import GLOBAL, Mode, current, namespaces
from ...core.treedef import PyTreeDef
from ...core.walk import Step, iter_steps
from ...errors import StructureError, TreeDefError
from .accessors import PyTreeAccessor, PyTreeKind
from .kinds import accessors_of, brackets, kind_of, metadata, paths_of


def _of_treedef(name: str, doc: str) -> Any:
    return property(operator.attrgetter(f"_treedef.{name}"), doc=doc)


class PyTreeSpec:
    """The structure of a tree: its nodes and their metadata, without the leaves.

    Made by `tree_structure` and `tree_flatten`, and by the functions `treespec_*`.

    Example:
        >>> from leafwise.compat import optree
        >>> spec = optree.tree_structure({"b": [1, None], "a": 2})
        >>> spec
        PyTreeSpec({'a': *, 'b': [*, None]})
        >>> spec.num_leaves, spec.paths(), spec.kind
        (2, [('a',), ('b', 0)], <PyTreeKind.DICT: 5>)
        >>> spec.unflatten("xy")
        {'b': ['y', None], 'a': 'x'}
    """

    __slots__ = ("__weakref__", "_namespace", "_treedef")

    _treedef: PyTreeDef
    _namespace: str

    def __init__(self) -> None:
        raise TypeError("optree.PyTreeSpec: No constructor defined!")

    # ------------------------------------------------------------------------ reading

    num_leaves = _of_treedef("num_leaves", "The number of leaves.")
    num_nodes = _of_treedef("num_nodes", "The number of nodes, leaves included.")
    num_children = _of_treedef("num_children", "The number of children of the root.")
    none_is_leaf = _of_treedef("none_is_leaf", "Whether None was treated as a leaf.")
    type = _of_treedef("type", "The class of the root, None for a leaf.")

    @property
    def namespace(self) -> str:
        """The namespace that the structure depends on, or an empty string."""
        return self._namespace

    @property
    def kind(self) -> PyTreeKind:
        """The kind of the root."""
        code = self._treedef._code
        return kind_of(code[-1][1] if code else None)

    def is_leaf(self, /, *, strict: bool = True) -> bool:
        """Return whether this is a leaf or, unless `strict`, has no children."""
        return self._treedef.is_leaf(strict=strict)

    def is_one_level(self) -> bool:
        """Return whether this is a node all of whose children are leaves."""
        return len(self._treedef._code) == 1

    def paths(self) -> list[tuple[Any, ...]]:
        """Return the path to each leaf."""
        return paths_of(self._treedef)

    def accessors(self) -> list[PyTreeAccessor]:
        """Return the accessor of each leaf."""
        return accessors_of(self._treedef)

    def entries(self) -> list[Any]:
        """Return the path entries of the root's children."""
        if not self._treedef._code:
            return []
        _, rule, arity, aux = self._treedef._code[-1]
        return [*rule.bare_keys(aux, arity)]

    def entry(self, index: int, /) -> Any:
        """Return the path entry of one child of the root.

        Raises:
            IndexError: There is no such child.
        """
        found = self.entries()
        return found[_place("Entry", index, len(found))]

    def children(self) -> list[Self]:
        """Return the structures of the children of the root."""
        return [self._like(child) for child in self._treedef.children()]

    def child(self, index: int, /) -> Self:
        """Return the structure of one child of the root.

        Raises:
            IndexError: There is no such child.
        """
        return self.children()[_place("Child", index, self.num_children)]

    def one_level(self) -> Self | None:
        """Return the root with leaves as children, or None for a leaf."""
        code = self._treedef._code
        if not code:
            return None
        steps = (*(None,) * self.num_children, code[-1][1:])
        return self._like(PyTreeDef._of(steps, self._treedef._mode))  # type: ignore[no-any-return]  # a spec

    # -------------------------------------------------------------------------- using

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Build a tree from its leaves.

        Raises:
            ValueError: Too few or too many.
        """
        given, wanted = [*leaves], self.num_leaves
        if len(given) != wanted:
            told = f"leaves for PyTreeSpec; expected: {wanted}, got: {len(given)}."
            raise ValueError(f"Too {'few' if len(given) < wanted else 'many'} {told}")
        return self._treedef.unflatten(given)

    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """Return the subtrees of a tree at the leaves of this structure.

        Raises:
            ValueError: The tree does not have this structure.
        """
        return self._treedef.flatten_up_to(tree)

    def walk(
        self,
        leaves: Iterable[Any],
        /,
        f_node: Callable[[builtins.type, Any, tuple[Any, ...]], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Fold the structure from the leaves up, without building nodes.

        Args:
            leaves: As many leaves as there are.
            f_node: Takes class, metadata and results of the children; without it the
                node is built.
            f_leaf: Called on each leaf first.
        """

        def fold(rule: Any, aux: Any, children: list[Any]) -> Any:
            if f_node is None:
                return rule.unflatten(aux, children)
            data = metadata(rule, aux, keys=list)
            return f_node(rule.class_of(aux), data, tuple(children))

        return self._treedef._fold(leaves, f_leaf, fold)

    def traverse(
        self,
        leaves: Iterable[Any],
        /,
        f_node: Callable[[Any], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Build a tree from the leaves up, with a function called on each node.

        Args:
            leaves: As many leaves as there are.
            f_node: Takes each node once it is built.
            f_leaf: Called on each leaf first.
        """

        def build(rule: Any, aux: Any, children: list[Any]) -> Any:
            node = rule.unflatten(aux, children)
            return node if f_node is None else f_node(node)

        return self._treedef._fold(leaves, f_leaf, build)

    # ------------------------------------------------------------------------ algebra

    def compose(self, inner: PyTreeSpec, /) -> PyTreeSpec:
        """Return this structure with another one in place of each leaf."""
        check_spec("compose", inner)
        namespace = joined((self, inner))
        return merged(self._plain().compose(inner._plain()), namespace)

    def broadcast_to_common_suffix(self, other: PyTreeSpec, /) -> PyTreeSpec:
        """Return the smallest structure that both structures are prefixes of.

        Raises:
            ValueError: There is none.
        """
        check_spec("broadcast_to_common_suffix", other)
        namespace = joined((self, other))
        found = self._plain().common_suffix(other._plain())
        if found is None:
            raise StructureError(f"{self!r} and {other!r} have no common suffix")
        return merged(found, namespace)

    def transform(
        self,
        /,
        f_node: Callable[[PyTreeSpec], PyTreeSpec] | None = None,
        f_leaf: Callable[[PyTreeSpec], PyTreeSpec] | None = None,
    ) -> PyTreeSpec:
        """Return a structure with nodes replaced, or leaves replaced by structures.

        Args:
            f_node: Takes each node with leaves for children, from the leaves up, and
                returns a node with as many.
            f_leaf: Takes the structure of a leaf, returns any structure.

        Raises:
            TypeError: A function returned something else than a structure.
            ValueError: It cannot stand there.
        """
        steps: list[Step] = []
        names = {self.namespace}
        for step in iter_steps(self._treedef._code):
            function = f_leaf if step is None else f_node
            if function is None:
                steps.append(step)
                continue
            leaves = () if step is None else (None,) * step[1]
            one = PyTreeDef._of((*leaves, step), self._treedef._mode)
            made = function(self._like(one))
            _check_made(made, one)
            names.add(made.namespace)
            found = [*iter_steps(made._treedef._code)]
            steps += found if step is None else found[-1:]
        return merged(PyTreeDef._of(steps, self._plain()._mode), one_namespace(names))

    # ---------------------------------------------------------------------- comparing

    def is_prefix(self, other: PyTreeSpec, /, *, strict: bool = False) -> bool:
        """Return whether this structure is a prefix of another.

        Args:
            other: The other structure.
            strict: Whether the other must go deeper somewhere.
        """
        check_spec("is_prefix", other)
        if not _fit(self, other):
            return False
        return self._treedef.is_prefix(other._treedef, strict=strict)

    def is_suffix(self, other: PyTreeSpec, /, *, strict: bool = False) -> bool:
        """Return whether another structure is a prefix of this one."""
        check_spec("is_suffix", other)
        return other.is_prefix(self, strict=strict)

    __le__ = is_prefix
    __ge__ = is_suffix

    def __lt__(self, other: PyTreeSpec, /) -> bool:
        return self.is_prefix(other, strict=True)

    def __gt__(self, other: PyTreeSpec, /) -> bool:
        return self.is_suffix(other, strict=True)

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, PyTreeSpec):
            return NotImplemented
        return self._treedef == other._treedef and _fit(self, other)

    def __hash__(self) -> int:
        return hash(self._treedef)

    def __len__(self) -> int:
        return self._treedef.num_leaves

    # ------------------------------------------------------------------- text, copies

    def __repr__(self) -> str:
        text = code_text(self._treedef._code, brackets)
        mode = ", NoneIsLeaf" if self.none_is_leaf else ""
        namespace = f", namespace={self.namespace!r}" if self.namespace else ""
        return f"PyTreeSpec({text}{mode}{namespace})"

    __copy__ = __deepcopy__ = lambda self, *_memo: self

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (*self._treedef.__reduce__(), self.namespace)

    # ----------------------------------------------------------------------- as parts

    def _plain(self) -> PyTreeDef:
        """Return the treedef as one of the global registry, to be joined with others.

        What is not of the global registry is said by the rules in it.
        """
        treedef = self._treedef
        if treedef.namespace == GLOBAL:
            return treedef
        mode = Mode(GLOBAL, treedef.none_is_leaf)
        return PyTreeDef._make(treedef._code, treedef._count, mode)

    def _like(self, treedef: PyTreeDef) -> Any:
        """Return a structure in the same namespace, which it may not depend on."""
        return spec_of(treedef, self.namespace)


def _check_made(made: Any, one: PyTreeDef) -> None:
    """Refuse what a function of `transform` may not return in place of a structure.

    Raises:
        TypeError: It is not a structure.
        ValueError: It cannot stand there.
    """
    if not isinstance(made, PyTreeSpec):
        raise TypeError(f"transform() takes functions to a PyTreeSpec, got {made!r}")
    fits = made.is_one_level() and made.num_leaves == one.num_children
    if made.none_is_leaf != one.none_is_leaf or not (fits or one.is_leaf()):
        raise ValueError(f"{made!r} cannot stand in the place of {one!r}")


def spec_of(treedef: PyTreeDef, namespace: str = "") -> PyTreeSpec:
    """Return a treedef as a `PyTreeSpec` that depends on a namespace."""
    made = object.__new__(PyTreeSpec)
    made._treedef = treedef
    made._namespace = namespace
    return made


class _MalformedError(TreeDefError, RuntimeError):
    """The state of a pickled structure is malformed, or names an unknown class."""


def _load(load: Callable[..., PyTreeDef], state: Any, namespace: str) -> PyTreeSpec:
    try:
        return spec_of(load(*state), namespace)
    except TreeDefError as error:
        raise _MalformedError(*error.args) from None


def check_spec(who: str, spec: Any) -> None:
    """Raise an error if a value is not a structure.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(spec, PyTreeSpec):
        raise TypeError(f"{who}() takes a PyTreeSpec, got {typed_repr(spec)}")


def _place(what: str, index: Any, count: int) -> int:
    """Return an index as an int of the right size.

    Raises:
        IndexError: There is no such place.
        TypeError: It is not an index.
    """
    is_whole = hasattr(index, "__int__") and float not in type(index).__mro__
    place = int(index) if is_whole else operator.index(index)
    if not -count <= place < count:
        raise IndexError(f"PyTreeSpec::{what}() index out of range.")
    return place


def _fit(a: PyTreeSpec, b: PyTreeSpec) -> bool:
    """Return whether two structures may be of one namespace."""
    return a.namespace == b.namespace or not a.namespace or not b.namespace


def joined(specs: tuple[PyTreeSpec, ...], what: str = "PyTreeSpecs") -> str:
    """Return the namespace of a structure that is made of others.

    Raises:
        ValueError: Their None modes or namespaces differ.
    """
    if len({spec.none_is_leaf for spec in specs}) > 1:
        raise ValueError(f"{what} must have the same none_is_leaf value.")
    return one_namespace({spec.namespace for spec in specs}, what)


def one_namespace(names: set[str], what: str = "PyTreeSpecs") -> str:
    """Return the name that is not empty, if there is one.

    Raises:
        ValueError: There are several.
    """
    found = sorted(names - {""})
    if len(found) > 1:
        several = " vs. ".join(map(repr, found))
        raise ValueError(f"{what} must have the same namespace, got {several}.")
    return found[0] if found else ""


def merged(treedef: PyTreeDef, namespace: str) -> PyTreeSpec:
    """Return a structure that was made of others, in the namespace of one of them.

    Raises:
        ValueError: A class in it is registered in that namespace in another way.
    """
    rules = current.state.layers[namespace].rules if namespace in namespaces() else {}
    for _, rule, _, _ in treedef._code if rules else ():
        if rules.get(rule.cls, rule) is not rule:
            told = f"{rule.cls.__qualname__} is not a node of its original registration"
            raise ValueError(f"in namespace {namespace!r}, {told}")
    return spec_of(treedef, namespace)
