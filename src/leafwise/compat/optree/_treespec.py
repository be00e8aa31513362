"""`PyTreeSpec`: the structure of a tree as optree has it, around a `PyTreeDef`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ..._text import typed_repr
from ...core.matching import code_text, common_suffix
from ...core.node import NodeType
from ...core.registry import GLOBAL, Mode, current, view_of
from ...core.treedef import PyTreeDef, code_of, fold_treedef, treedef_of
from ...core.walk import Step, iter_steps
from ...errors import StructureError, TreeDefError
from ._nodes import PyTreeKind, brackets, entries_of, kind_of, metadata
from .accessors import PyTreeAccessor, accessors_of, paths_of


class PyTreeSpec:
    """The structure of a tree: its nodes and their metadata, without the leaves.

    Made by `tree_structure` and `tree_flatten`, and by the functions `treespec_*`.

    Attributes:
        treedef: The structure as a treedef of leafwise.
        namespace: The namespace that the structure depends on, or an empty string.

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

    __slots__ = ("__weakref__", "namespace", "treedef")

    treedef: PyTreeDef
    namespace: str

    def __init__(self) -> None:
        raise TypeError("a PyTreeSpec is made from a tree: use tree_structure(tree)")

    # ------------------------------------------------------------------------ reading

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self.treedef.num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return self.treedef.num_nodes

    @property
    def num_children(self) -> int:
        """The number of children of the root."""
        return self.treedef.num_children

    @property
    def none_is_leaf(self) -> bool:
        """Whether None was treated as a leaf."""
        return self.treedef.none_is_leaf

    @property
    def type(self) -> builtins.type | None:
        """The class of the root, None for a leaf."""
        return self.treedef.type

    @property
    def kind(self) -> PyTreeKind:
        """The kind of the root."""
        root = self._root()
        return PyTreeKind.LEAF if root is None else kind_of(root[0])

    def is_leaf(self, /, *, strict: bool = True) -> bool:
        """Return whether this is a leaf or, unless `strict`, has no children."""
        return self.treedef.is_leaf(strict=strict)

    def is_one_level(self) -> bool:
        """Return whether this is a node all of whose children are leaves."""
        return self.num_nodes == self.num_leaves + 1

    def paths(self) -> list[tuple[Any, ...]]:
        """Return the path to each leaf."""
        return paths_of(self.treedef)

    def accessors(self) -> list[PyTreeAccessor]:
        """Return the accessor of each leaf."""
        return accessors_of(self.treedef)

    def entries(self) -> list[Any]:
        """Return the path entries of the root's children."""
        root = self._root()
        if root is None:
            return []
        node_type, arity, aux = root
        return list(entries_of(node_type, aux, arity))

    def entry(self, index: int, /) -> Any:
        """Return the path entry of one child of the root.

        Raises:
            IndexError: There is no such child.
        """
        return self.entries()[index]

    def children(self) -> list[PyTreeSpec]:
        """Return the structures of the children of the root."""
        return [self._like(child) for child in self.treedef.children()]

    def child(self, index: int, /) -> PyTreeSpec:
        """Return the structure of one child of the root.

        Raises:
            IndexError: There is no such child.
        """
        return self.children()[index]

    def one_level(self) -> PyTreeSpec | None:
        """Return the root with leaves as children, or None for a leaf."""
        root = self._root()
        return None if root is None else self._like(self._one_level(root))

    # -------------------------------------------------------------------------- using

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Build a tree from its leaves.

        Raises:
            ValueError: Too few or too many.
        """
        return self.treedef.unflatten(leaves)

    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """Return the subtrees of a tree at the leaves of this structure.

        Raises:
            ValueError: The tree does not have this structure.
        """
        return self.treedef.flatten_up_to(tree)

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

        def fold(node_type: NodeType, aux: Any, children: list[Any]) -> Any:
            if f_node is None:
                return node_type.unflatten(aux, children)
            # without `original_keys`: optree has a plain list of keys here
            data = metadata(node_type, aux, lambda keys: list(keys.ordered))
            return f_node(node_type.class_of(aux), data, tuple(children))

        return fold_treedef(self.treedef, leaves, f_leaf, fold)

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

        def build(node_type: NodeType, aux: Any, children: list[Any]) -> Any:
            node = node_type.unflatten(aux, children)
            return node if f_node is None else f_node(node)

        return fold_treedef(self.treedef, leaves, f_leaf, build)

    # ------------------------------------------------------------------------ algebra

    def compose(self, inner: PyTreeSpec, /) -> PyTreeSpec:
        """Return this structure with another one in place of each leaf."""
        namespace = joined_namespace((self, inner))
        steps: list[Step] = []
        for step in steps_in(self):
            if step is None:
                steps.extend(steps_in(inner))
            else:
                steps.append(step)
        return spec_of_steps(steps, self.none_is_leaf, namespace)

    def broadcast_to_common_suffix(self, other: PyTreeSpec, /) -> PyTreeSpec:
        """Return the smallest structure that both structures are prefixes of.

        Raises:
            ValueError: There is none.
        """
        namespace = joined_namespace((self, other))
        steps = common_suffix(code_of(self.treedef), code_of(other.treedef))
        if steps is None:
            raise StructureError(f"{self!r} and {other!r} have no common suffix")
        return spec_of_steps(steps, self.none_is_leaf, namespace)

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
        specs: list[PyTreeSpec] = [self]
        for step in steps_in(self):  # children before their parent
            function = f_leaf if step is None else f_node
            if function is None:
                steps.append(step)
                continue
            part = self._like(self._one_level(step))
            new_part = function(part)
            new_steps = list(steps_in(new_part))
            specs.append(new_part)
            if step is None:
                steps.extend(new_steps)
                continue
            if not new_part.is_one_level() or len(new_part) != len(part):
                raise ValueError(f"{new_part!r} cannot stand in the place of {part!r}")
            # the node alone: its transformed children are in `steps` already
            steps.append(new_steps[-1])
        namespace = joined_namespace(specs)
        return spec_of_steps(steps, self.none_is_leaf, namespace)

    # ---------------------------------------------------------------------- comparing

    def is_prefix(self, other: PyTreeSpec, /, *, strict: bool = False) -> bool:
        """Return whether this structure is a prefix of another.

        Args:
            other: The other structure.
            strict: Whether the other must go deeper somewhere.
        """
        is_prefix = self.treedef.is_prefix(treedef_in(other), strict=strict)
        return is_prefix and _fit(self, other)

    def is_suffix(self, other: PyTreeSpec, /, *, strict: bool = False) -> bool:
        """Return whether another structure is a prefix of this one."""
        is_suffix = treedef_in(other).is_prefix(self.treedef, strict=strict)
        return is_suffix and _fit(self, other)

    __le__ = is_prefix
    __ge__ = is_suffix

    def __lt__(self, other: PyTreeSpec, /) -> bool:
        return self.is_prefix(other, strict=True)

    def __gt__(self, other: PyTreeSpec, /) -> bool:
        return self.is_suffix(other, strict=True)

    def __eq__(self, other: object, /) -> bool:
        if not isinstance(other, PyTreeSpec):
            return NotImplemented
        return self.treedef == other.treedef and _fit(self, other)

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __len__(self) -> int:
        return self.num_leaves

    # ------------------------------------------------------------------- text, copies

    def __repr__(self) -> str:
        text = code_text(code_of(self.treedef), brackets)
        if self.none_is_leaf:
            text += ", NoneIsLeaf"
        if self.namespace:
            text += f", namespace={self.namespace!r}"
        return f"PyTreeSpec({text})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (*self.treedef.__reduce__(), self.namespace)

    # ----------------------------------------------------------------------- as parts

    def _root(self) -> Step:
        # Code is in post-order, and its last entry may stand for several steps.
        *_, root = iter_steps(code_of(self.treedef)[-1:])
        return root

    def _one_level(self, step: Step) -> PyTreeDef:
        """Return a node with leaves as children, or a leaf for None."""
        leaves: list[Step] = []
        if step is not None:
            _, arity, _ = step
            leaves = [None] * arity
        mode = Mode(self.treedef.namespace, self.none_is_leaf)
        return treedef_of([*leaves, step], mode)

    def _like(self, treedef: PyTreeDef) -> PyTreeSpec:
        """Return a structure in the same namespace, which it may not depend on."""
        return spec_of(treedef, self.namespace)


def spec_of(treedef: PyTreeDef, namespace: str = "") -> PyTreeSpec:
    """Return a treedef as a `PyTreeSpec` that depends on a namespace."""
    spec = object.__new__(PyTreeSpec)
    spec.treedef = treedef
    spec.namespace = namespace
    return spec


def spec_of_steps(
    steps: Iterable[Step], none_is_leaf: bool, namespace: str
) -> PyTreeSpec:
    """Return a structure that is made of parts of others.

    Args:
        steps: Its nodes and leaves in post-order.
        none_is_leaf: Whether None is a leaf in it.
        namespace: The namespace that it depends on.
    """
    # in the global mode: matching and building ask the node types in the structure,
    # and which namespace they are from, only `namespace` says
    return spec_of(treedef_of(steps, Mode(GLOBAL, none_is_leaf)), namespace)


class _PickleError(TreeDefError, RuntimeError):
    """The state of a pickled structure is malformed, or names an unknown class."""


def _load(load: Callable[..., PyTreeDef], state: Any, namespace: str) -> PyTreeSpec:
    try:
        treedef = load(*state)
    except TreeDefError as error:
        # programs for optree catch a RuntimeError, others a TreeDefError
        raise _PickleError(*error.args) from None
    return spec_of(treedef, namespace)


def treedef_in(spec: object) -> PyTreeDef:
    """Return the treedef of a structure.

    Raises:
        TypeError: The value is not a structure.
    """
    if not isinstance(spec, PyTreeSpec):
        raise TypeError(f"expected a PyTreeSpec, got {typed_repr(spec)}")
    return spec.treedef


def steps_in(spec: object) -> Iterator[Step]:
    """Return the nodes and leaves of a structure in post-order.

    Raises:
        TypeError: The value is not a structure.
    """
    return iter_steps(code_of(treedef_in(spec)))


def _fit(a: PyTreeSpec, b: PyTreeSpec) -> bool:
    """Return whether two structures may be of one namespace."""
    return a.namespace == b.namespace or not a.namespace or not b.namespace


def joined_namespace(specs: Iterable[PyTreeSpec], namespace: str = "") -> str:
    """Return the namespace of a structure that is made of others.

    Args:
        specs: The structures.
        namespace: A namespace that theirs must not contradict.

    Raises:
        TypeError: One of them is not a structure.
        ValueError: Their None modes or namespaces differ, or a class of a structure
            without a namespace is registered in another way in that of the others.
    """
    modes = {treedef_in(spec).none_is_leaf for spec in specs}
    if len(modes) > 1:
        raise ValueError("the PyTreeSpecs must have the same none_is_leaf")
    joined = ""
    for spec in specs:
        for name in (joined, namespace):
            if name and spec.namespace and name != spec.namespace:
                raise ValueError(
                    f"the PyTreeSpecs are of several namespaces: {name!r} and "
                    f"{spec.namespace!r}"
                )
        joined = joined or spec.namespace
    for spec in specs:
        if spec.namespace != joined:
            _check_registrations(spec, joined)
    return joined


def _check_registrations(spec: PyTreeSpec, namespace: str) -> None:
    """Check that the classes of a structure are registered alike in a namespace.

    Raises:
        ValueError: One of them is not.
    """
    is_declared = namespace in current.state.layers
    view = view_of(namespace if is_declared else GLOBAL)
    for _, node_type, _, aux in code_of(treedef_in(spec)):
        if kind_of(node_type) is not PyTreeKind.CUSTOM:
            continue
        cls = node_type.class_of(aux)
        if view.find(cls) is not node_type:
            raise ValueError(
                f"the PyTreeSpecs cannot be joined: {cls.__qualname__} is registered "
                f"in another way in namespace {namespace!r}"
            )
