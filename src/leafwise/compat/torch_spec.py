"""`TreeSpec`, what stands in for the spec of a tree in `torch.utils._pytree`.

It owns how a treedef looks there: types and contexts, text, equality, and the JSON
texts of protocol 1, which go both ways between torch and this. A `TreeSpec` holds a
`PyTreeDef`, so trees of any depth have one. It keeps the functions of the classes as
they were when it was made.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from typing_extensions import deprecated

from ..core.builtins import (
    DEFAULTDICT_AS_GIVEN,
    DEQUE,
    DICT_AS_GIVEN,
    LIST,
    ORDEREDDICT,
    TUPLE,
    NamedTupleRule,
)
from ..core.keys import AS_GIVEN
from ..core.node import Rule
from ..core.registry import Adopter, Mode, view_of
from ..core.treedef import PyTreeDef
from ..core.walk import Step, iter_steps
from ..safely import Sealed, described
from .common import kept_by_treedef
from .torch_nodes import (
    NAMESPACE,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    FunctionsNode,
    namedtuple_rule,
)


__all__ = [
    "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL",
    "EnumEncoder",
    "LeafSpec",
    "TreeSpec",
    "enum_object_hook",
    "pytree_to_str",
    "str_to_pytree",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL: Final = 1
_MODE: Final = Mode(NAMESPACE, True)


# ------------------------------------------------------------- types and contexts


def _type_of(rule: Rule, aux: Any) -> Any:
    return namedtuple if isinstance(rule, NamedTupleRule) else rule.class_of(aux)


def _context_of(rule: Rule, aux: Any) -> Any:
    """Return aux data as torch has it."""
    if rule is DICT_AS_GIVEN:
        return [*aux[0]]
    if rule is ORDEREDDICT:
        return [*aux]
    if rule is DEFAULTDICT_AS_GIVEN:
        return [aux[2], [*aux[0]]]
    if isinstance(rule, FunctionsNode | NamedTupleRule) or aux is None:
        return aux
    return rule.node_data(aux)


class _UnknownNode(Rule):
    """A class that nobody registered; a tree of it cannot be built."""

    def unflatten(self, aux: Any, children: Any) -> Any:
        raise KeyError(self.cls)


_unknown: Final = Adopter(_UnknownNode)


def _step_of(cls: Any, context: Any, arity: int) -> Step:
    """Return a node of which torch tells the type and the context.

    Raises:
        ValueError: It has another number of children than the context says.
    """
    if cls is namedtuple:
        named: Any = context
        _check_arity(cls, len(named._fields), arity)
        view = view_of(NAMESPACE, True)
        return view.resolve(context) or namedtuple_rule(context), arity, context
    rule = view_of(NAMESPACE, True).resolve(cls)
    if rule is DICT_AS_GIVEN:
        aux: Any = _keys(cls, context, arity), AS_GIVEN
    elif rule is ORDEREDDICT:
        aux = _keys(cls, context, arity)
    elif rule is DEFAULTDICT_AS_GIVEN:
        aux = _keys(cls, context[1], arity), AS_GIVEN, context[0]
    elif isinstance(rule, FunctionsNode) or rule in (LIST, TUPLE, DEQUE):
        aux = context
    else:
        rule, aux = _unknown(cls), context
    return rule, arity, aux  # type: ignore[return-value]  # `_unknown` knows any class


def _keys(cls: Any, keys: Iterable[Any], arity: int) -> tuple[Any, ...]:
    """Return the keys of a dict; JSON has lists for tuples, which cannot be keys."""
    found = tuple(map(_hashable, keys))
    _check_arity(cls, len(found), arity)
    return found


def _hashable(key: Any) -> Any:
    return tuple(map(_hashable, key)) if type(key) is list else key


def _check_arity(cls: Any, expected: int, arity: int) -> None:
    if expected != arity:
        raise ValueError(
            f"the context of a {cls.__name__} is that of {expected} children, got "
            f"{arity}"
        )


# ------------------------------------------------------------------------- the spec


class TreeSpec(Sealed):
    """The structure of a tree.

    Args:
        type: The type of the root, None for a leaf; `collections.namedtuple` for
            all named tuples, whose class is the context.
        context: What the root is beside its children.
        children_specs: The specs of the children.

    Raises:
        AssertionError: A leaf has a context or children.
        ValueError: The context is that of another number of children.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> spec = pytree.tree_structure({"b": [1, 2], "a": None})
        >>> spec
        TreeSpec(dict, ['b', 'a'], [TreeSpec(list, None, [*,
            *]),
          *])
        >>> spec == pytree.TreeSpec(dict, ["b", "a"], spec.children())
        True
    """

    __slots__ = ("__weakref__", "_treedef")

    _treedef: PyTreeDef

    def __init__(self, type: Any, context: Any, children_specs: list[Any]) -> None:
        if type is None:
            if context is not None or len(children_specs) != 0:
                raise AssertionError("a leaf has neither context nor children")
            steps: list[Step] = [None]
        else:
            steps = []
            for child in children_specs:
                steps += iter_steps(child._treedef._code)
            steps.append(_step_of(type, context, len(children_specs)))
        object.__setattr__(self, "_treedef", PyTreeDef._of(steps, _MODE))

    # ------------------------------------------------------------------ reading

    @property
    def type(self) -> Any:
        """The type of the root, None for a leaf."""
        code = self._treedef._code
        return _type_of(code[-1][1], code[-1][3]) if code else None

    @property
    def context(self) -> Any:
        """The data of the root other than its children."""
        code = self._treedef._code
        return _context_of(code[-1][1], code[-1][3]) if code else None

    @property
    def _context(self) -> Any:
        return self.context

    @property
    def _children(self) -> list[TreeSpec]:
        return self.children()

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return self._treedef.num_nodes

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._treedef.num_leaves

    @property
    def num_children(self) -> int:
        """The number of children of the root."""
        return self._treedef.num_children

    @property
    @deprecated(
        "`treespec.children_specs` is deprecated, use `treespec.children()` or "
        "`treespec.child(index)` instead.",
        category=FutureWarning,
    )
    def children_specs(self) -> list[TreeSpec]:
        """The specs of the children."""
        return self.children()

    def is_leaf(self) -> bool:
        """Return whether this is the spec of a leaf."""
        return not self._treedef._code

    def children(self) -> list[TreeSpec]:
        """Return the specs of the children."""
        return [*map(spec_of, self._treedef.children())]

    def child(self, index: int) -> TreeSpec:
        """Return the spec of one child.

        Raises:
            IndexError: There is no such child.
        """
        return self.children()[index]

    # ---------------------------------------------------------------------- using

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of a tree at the leaves of this spec.

        Args:
            tree: A tree that begins as the spec does, and may go deeper. Dicts of all
                kinds go together by their keys.

        Raises:
            ValueError: It does not.
        """
        return self._treedef.flatten_up_to(tree)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Build a tree from its leaves.

        Raises:
            ValueError: There are too few or too many.
        """
        return self._treedef.unflatten(leaves)

    # --------------------------------------------------------------------- itself

    def __repr__(self, indent: int = 0) -> str:
        return _text(self._treedef, indent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        one, its = self._treedef, other._treedef
        return one is its or one == its or _are_alike(one, its)

    def __hash__(self) -> int:
        return _hash_of(self._treedef)

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_nodes, ([*_nodes(self._treedef)],)


@deprecated(
    "`isinstance(treespec, LeafSpec)` is deprecated, use `treespec.is_leaf()` instead.",
    category=FutureWarning,
)
class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF_SPEC: Final[TreeSpec] = object.__new__(LeafSpec)
TreeSpec.__init__(_LEAF_SPEC, None, None, [])


def spec_of(treedef: PyTreeDef) -> TreeSpec:
    """Return the spec of a treedef of this namespace."""
    if not treedef._code:
        return _LEAF_SPEC
    made = object.__new__(TreeSpec)
    object.__setattr__(made, "_treedef", treedef)
    return made


def _nodes(treedef: PyTreeDef) -> Iterator[Any]:
    """Yield type, context and number of children of each node, None for a leaf."""
    for step in iter_steps(treedef._code):
        if step is None:
            yield None
        else:
            rule, arity, aux = step
            yield _type_of(rule, aux), _context_of(rule, aux), arity


def _from_nodes(nodes: Iterable[Any]) -> TreeSpec:
    steps = [None if node is None else _step_of(*node) for node in nodes]
    return spec_of(PyTreeDef._of(steps, _MODE))


def _are_alike(a: PyTreeDef, b: PyTreeDef) -> bool:
    """Return whether torch would take two structures that differ for equal.

    It compares types by their texts, and contexts by `==`.
    """
    if (a.num_leaves, a.num_nodes) != (b.num_leaves, b.num_nodes):
        return False
    for one, other in zip(_nodes(a), _nodes(b), strict=True):
        if one is None or other is None:
            if one is not other:
                return False
        elif str(one[0]) != str(other[0]) or one[2] != other[2] or one[1] != other[1]:
            return False
    return True


@kept_by_treedef
def _hash_of(treedef: PyTreeDef) -> int:
    """Return a hash that agrees with `==`: of contexts, what is certainly hashable."""
    return hash(tuple([node and _hash_of_node(*node) for node in _nodes(treedef)]))


def _hash_of_node(cls: Any, context: Any, arity: int) -> int:
    if isinstance(context, ConstantNode):
        return hash((str(cls), arity, context.value))
    if cls is defaultdict:
        context = [context[0], *context[1]]
    known: Any = tuple(context) if type(context) is list and _is_dict(cls) else None
    return hash((str(cls), arity, known))


def _is_dict(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, dict)


# --------------------------------------------------------------------- text of specs


def _nested(treedef: PyTreeDef) -> Any:
    """Return a structure as nodes `(type, context, children)`, None for a leaf."""
    stack: list[Any] = []
    for node in _nodes(treedef):
        if node is None:
            stack.append(None)
        else:
            cls, context, arity = node
            split = len(stack) - arity
            stack[split:] = [(cls, context, stack[split:])]
    return stack[0]


def _text(treedef: PyTreeDef, indent: int) -> str:
    tokens: list[str] = []
    stack: list[Any] = [(indent, _nested(treedef))]
    while stack:
        token = stack.pop()
        if type(token) is str:
            tokens.append(token)
            continue
        depth, node = token
        if node is None:
            tokens.append("*")
            continue
        cls, context, children = node
        tokens.append(f"TreeSpec({cls.__name__}, {context}, [")
        below: list[Any] = []
        for child in children:
            below += [f",\n{' ' * (depth + 2)}"] if below else []
            below.append((depth + 2, child))
        stack += ["])", *reversed(below)]
    return "".join(tokens)


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a tree as text, with `*` for its leaves.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.treespec_pprint(pytree.tree_structure({"a": [1, 2]}))
        "{'a': [*, *]}"
    """
    return repr(treespec.unflatten([_asterisk] * treespec.num_leaves))


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


_asterisk: Final = _Asterisk("*")


# ------------------------------------------------------------------- specs by hand


def treespec_leaf() -> TreeSpec:
    """Return the spec of a leaf.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.treespec_leaf()
        *
    """
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the spec of a tuple.

    Args:
        iterable: The specs of its children.

    Raises:
        ValueError: One of them is no spec.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.treespec_tuple([pytree.treespec_leaf()])
        TreeSpec(tuple, None, [*])
    """
    children = [*iterable]
    _check_specs("a tuple", children, children)
    return TreeSpec(tuple, None, children)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (),
    /,
    **kwargs: TreeSpec,
) -> TreeSpec:
    """Return the spec of a dict.

    Args:
        mapping: Keys and the specs of their children.
        **kwargs: More of them.

    Raises:
        ValueError: One of them is no spec.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.treespec_dict(a=pytree.treespec_leaf())
        TreeSpec(dict, ['a'], [*])
    """
    children = dict(mapping, **kwargs)
    _check_specs("a dictionary", children.values(), children)
    return TreeSpec(dict, [*children], [*children.values()])


def _check_specs(what: str, specs: Iterable[Any], given: Any) -> None:
    if not all(isinstance(spec, TreeSpec) for spec in specs):
        raise ValueError(f"Expected {what} of TreeSpec values, got: {given!r}.")


# -------------------------------------------------------------------------------- JSON


class EnumEncoder(json.JSONEncoder):
    """A JSON encoder that writes members of an Enum by their class and name."""

    def default(self, obj: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # as in torch
        """Return what is written for an object.

        Raises:
            TypeError: It is no member of an Enum.
        """
        if isinstance(obj, enum.Enum):
            cls = type(obj)
            name = f"{cls.__module__}:{cls.__qualname__}"
            return {"__enum__": True, "fqn": name, "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict[str, Any]) -> enum.Enum | dict[str, Any]:
    """Return the Enum member that a JSON object represents, or the object.

    Example:
        >>> import json
        >>> from leafwise.compat.torch_pytree import EnumEncoder, enum_object_hook
        >>> from uuid import SafeUUID
        >>> text = json.dumps(SafeUUID.safe, cls=EnumEncoder)
        >>> text
        '{"__enum__": true, "fqn": "uuid:SafeUUID", "name": "safe"}'
        >>> json.loads(text, object_hook=enum_object_hook)
        <SafeUUID.safe: 0>
    """
    if "__enum__" not in obj:
        return obj
    module, _, qualname = obj["fqn"].partition(":")
    found: Any = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    member: enum.Enum = found[obj["name"]]
    return member


_LEAF_TEXT: Final = '{"type": null, "context": null, "children_spec": []}'


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a spec as JSON that torch can read.

    Args:
        treespec: The spec.
        protocol: 1, the only one there is.

    Raises:
        NotImplementedError: A class was registered without `serialized_type_name`.
        TypeError: It is no spec, or a context cannot be written.
        ValueError: There is no such protocol.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.treespec_dumps(pytree.tree_structure({}))
        '[1, {"type": "builtins.dict", "context": "[]", "children_spec": []}]'
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got "
            f"{described(treespec)}"
        )
    if protocol is None:
        protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    _check_protocol(protocol)
    tokens: list[str] = []
    stack: list[Any] = [_nested(treespec._treedef)]
    while stack:
        node = stack.pop()
        if node is None:
            tokens.append(_LEAF_TEXT)
        elif type(node) is str:
            tokens.append(node)
        else:
            cls, context, children = node
            tokens.append(_opening(cls, context))
            below: list[Any] = []
            for child in children:
                below += [", ", child] if below else [child]
            stack += ["]}", *reversed(below)]
    return f"[{protocol}, {''.join(tokens)}]"


def _opening(cls: Any, context: Any) -> str:
    """Return the text of a node up to its children.

    Raises:
        NotImplementedError: Its class has no name to be written by.
        TypeError: The context cannot be written.
    """
    known = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if known is None:
        raise NotImplementedError(f"Serializing {cls} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {cls} found: register it with a "
            "`serialized_type_name`"
        )
    written = known.to_dumpable_context
    try:
        data = json.dumps(context, cls=EnumEncoder) if written is None else None
    except TypeError as error:
        raise TypeError(
            f"Unable to serialize context of {cls}: {error}; register it with a "
            "`to_dumpable_context` and a `from_dumpable_context`"
        ) from error
    if written is not None:
        data = written(context)
    name, text = (
        json.dumps(known.serialized_type_name),
        json.dumps(data, cls=EnumEncoder),
    )
    return f'{{"type": {name}, "context": {text}, "children_spec": ['


def _check_protocol(protocol: Any) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: "
            f"{[DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]}"
        )


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the spec from the JSON of `treespec_dumps`, of this module or of torch.

    Keys of dicts that JSON has lists for are tuples again.

    Args:
        serialized: The text.

    Raises:
        NotImplementedError: No class is registered under a name.
        TypeError: A context cannot be read.
        ValueError: There is no such protocol.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> spec = pytree.tree_structure([1, {"a": (2,)}])
        >>> pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
        True
    """
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    steps: list[Step] = []
    stack: list[tuple[Step, Any]] = [(None, schema)]
    while stack:
        step, schema = stack.pop()
        if schema is None:
            steps.append(step)
            continue
        children = schema["children_spec"]
        if schema["type"] is None and schema["context"] is None and not children:
            steps.append(None)
            continue
        stack.append((_step_read(schema, len(children)), None))
        stack += [(None, child) for child in reversed(children)]
    return spec_of(PyTreeDef._of(steps, _MODE))


def _step_read(schema: Mapping[str, Any], arity: int) -> Step:
    """Return the node that is written.

    Raises:
        NotImplementedError: No class is registered under its name.
        TypeError: The context cannot be read.
    """
    name, written = schema["type"], schema["context"]
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read: Callable[[Any], Any] | None
    read = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    if read is not None:
        return _step_of(cls, read(written), arity)
    try:
        context = json.loads(written, object_hook=enum_object_hook)
    except TypeError as error:
        raise TypeError(
            f"Unable to deserialize context of {name}: {error}; register it with a "
            "`to_dumpable_context` and a `from_dumpable_context`"
        ) from error
    return _step_of(cls, context, arity)


@deprecated(
    "`pytree_to_str` is deprecated. Please use `treespec_dumps` instead.",
    category=FutureWarning,
)
def pytree_to_str(treespec: TreeSpec) -> str:
    """Return a spec as JSON; equivalent to `treespec_dumps`."""
    return treespec_dumps(treespec)


@deprecated(
    "`str_to_pytree` is deprecated. Please use `treespec_loads` instead.",
    category=FutureWarning,
)
def str_to_pytree(json: str) -> TreeSpec:
    """Return the spec from JSON; equivalent to `treespec_loads`.

    Args:
        json: The text.
    """
    return treespec_loads(json)
