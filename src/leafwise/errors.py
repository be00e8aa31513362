"""The exceptions that leafwise raises; each also derives from a built-in exception.

    LeafwiseError
    ├── StructureError(ValueError)    two structures do not match
    ├── CycleError(ValueError, RecursionError)   a tree contains itself
    ├── CompareError(TypeError)       two leaves cannot be compared
    ├── FlattenError(TypeError)       a flatten function returned an invalid result
    ├── TreeDefError(ValueError)      a treedef cannot be made from the arguments
    ├── PathError(LookupError)        a path does not exist, or a string is not a path
    ├── EditError(ValueError)         an impossible edit of a tree
    ├── FileError(ValueError)         a tree cannot be saved, or a file cannot be loaded
    ├── TraceError(RuntimeError)      an object is changed inside a transform
    ├── KindError(ValueError)         an attribute does not fit its declared kind
    └── RegistryError(ValueError)     an impossible registration
        └── NamespaceError(LookupError)   this namespace was not declared

An exception that a user's own function raises is never replaced by one of
these: it keeps its type and gains a note with the key path.
"""

from __future__ import annotations

from typing import Any


# fmt: off
__all__ = [
    "CompareError", "CycleError", "EditError", "FileError", "FlattenError", "KindError",
    "LeafwiseError", "NamespaceError", "PathError", "RegistryError", "StructureError",
    "TraceError", "TreeDefError",
]
# fmt: on


class LeafwiseError(Exception):
    """Base class of all exceptions that leafwise defines.

    Args:
        *message: The message.
        **attributes: Values of attributes of the class; the others keep their defaults.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.tree_unflatten(lw.tree_structure([1, 2]), [1])
        ... except lw.LeafwiseError as error:
        ...     print(type(error).__name__)
        StructureError
    """

    def __init__(self, *message: object, **attributes: Any) -> None:
        super().__init__(*message)
        vars(self).update(attributes)


class _LocatedError(LeafwiseError):
    """Base of errors that concern one node or leaf."""

    path: tuple[Any, ...] | None = None


class StructureError(_LocatedError, ValueError):
    """Two structures, or a structure and a number of leaves, do not match.

    Attributes:
        path: Key path of the first difference, a tuple of keys; None if the error
            does not concern a single path.
        expected: What the treedef or the first tree has there.
        actual: What was found there.
        tree_index: Index of the tree that does not match, 0 for the first one; None
            if only one tree is involved.
        differences: All differences, in order, as `Difference` records.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.tree_map(lambda x, y: x + y, {"a": [1, 2]}, {"a": (1, 2)})
        ... except lw.StructureError as error:
        ...     print(error.path, "|", error.expected, "|", error.actual)
        ['a'] | list of length 2 | tuple of length 2
    """

    expected: str | None = None
    actual: str | None = None
    tree_index: int | None = None
    differences: tuple[Any, ...] = ()


class CycleError(LeafwiseError, ValueError, RecursionError):
    """A tree contains itself, so walking it would never end.

    It is also a `RecursionError`, which other libraries raise in this case.

    Attributes:
        first: Key path of the first occurrence of the node.
        again: Key path, below `first`, where the same node occurs again.

    Example:
        >>> import leafwise as lw
        >>> knot = [1]
        >>> knot.append({"self": knot})
        >>> lw.tree_leaves(knot)
        Traceback (most recent call last):
        ...
        leafwise.errors.CycleError: the tree contains itself: the list at the root \
occurs again at [1]['self']
    """

    first: tuple[Any, ...] = ()
    again: tuple[Any, ...] = ()


class CompareError(_LocatedError, TypeError):
    """Two leaves cannot be compared.

    Their `==` raises or does not return a bool, or their values cannot be read.

    Attributes:
        path: Key path of the leaves, a tuple of keys; None if they have no path.

    Example:
        >>> import leafwise as lw
        >>> class Vague:
        ...     def __eq__(self, other):
        ...         return "maybe"
        >>> lw.tree_equal({"a": Vague()}, {"a": Vague()})
        Traceback (most recent call last):
        ...
        leafwise.errors.CompareError: at ['a'] cannot tell whether the leaves are \
equal (two Vague): == returned 'maybe' (str), not a bool
    """


class FlattenError(_LocatedError, TypeError, ValueError):
    """A registered flatten function returned an invalid result.

    Attributes:
        path: Key path of the node, a tuple of keys; None until the walk adds it.

    Example:
        >>> import leafwise as lw
        >>> class Bad: ...
        >>> _ = lw.register_pytree_node(Bad, lambda b: 3, lambda aux, kids: Bad())
        >>> try:
        ...     lw.tree_leaves([Bad()])
        ... except lw.errors.FlattenError as error:
        ...     print(error, *error.__notes__)
        the flatten function of Bad must return a tuple (children, aux_data) or \
(children, aux_data, keys), got int: 3 at key path [0]
    """


class TraceError(LeafwiseError, RuntimeError):
    """An object was changed at another trace level than the one that created it.

    Attributes:
        attribute: The name of the attribute.

    Example:
        >>> from leafwise import nn
        >>> issubclass(nn.TraceError, RuntimeError)
        True
    """

    attribute: str = ""


class KindError(LeafwiseError, ValueError):
    """The value of a `Pytree` attribute does not fit the declared kind.

    Attributes:
        owner: The class of the object.
        attribute: The name of the attribute.
        path: Key path, relative to the object, of the value that does not fit.

    Example:
        >>> import leafwise as lw
        >>> class Model(lw.Pytree):
        ...     def __init__(self, layers):
        ...         self.layers = lw.static(layers)
        >>> try:
        ...     Model({"out": lw.nn.List([])})
        ... except lw.errors.KindError as error:
        ...     print(error.attribute, error.path)
        layers .layers['out']
    """

    owner: type | None = None
    attribute: str = ""
    path: tuple[Any, ...] = ()


class TreeDefError(LeafwiseError, ValueError):
    """A treedef cannot be made from the given arguments.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.treedef_tuple([1])
        Traceback (most recent call last):
        ...
        leafwise.errors.TreeDefError: treedef_tuple takes treedefs, got int: 1
    """


class EditError(_LocatedError, ValueError):
    """An edit, a comparison or a merge of trees is impossible.

    Attributes:
        path: Key path of the node or leaf, a tuple of keys; None if there is not
            exactly one.

    Example:
        >>> import leafwise as lw
        >>> lw.at({"size": (1, 2)})["size[0]"].delete()
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: the tuple at size has a fixed number of \
children: they can be set, but not deleted, inserted or renamed
    """


class PathError(EditError, LookupError):
    """A path does not exist in a tree, or a string is not a valid path.

    Attributes:
        path: The requested path, a tuple of keys; None for a string.
        found: The longest part of it that exists in the tree; None for a string.

    Example:
        >>> import leafwise as lw
        >>> lw.KeyPath.parse("['optim']['rl']")({"optim": {"lr": 0.1, "decay": 0}})
        Traceback (most recent call last):
        ...
        leafwise.errors.PathError: no ['rl'] at ['optim']; the dict there has ['lr'], \
['decay']
    """

    found: tuple[Any, ...] | None = None


class FileError(_LocatedError, ValueError):
    """A tree cannot be saved, or the content of a file cannot be loaded.

    Errors of the operating system, such as a missing file or a full disk, are still
    raised as `OSError`.

    Attributes:
        path: Key path of the leaf or node that cannot be saved, a tuple of keys; None
            if the error concerns the file as a whole.

    Example:
        >>> import leafwise as lw
        >>> lw.load("model.bin")
        Traceback (most recent call last):
        ...
        leafwise.errors.FileError: model.bin: the name must end in .json, .npz \
or .safetensors; leafwise.read and leafwise.write are for YAML and TOML
    """


class RegistryError(LeafwiseError, ValueError):
    """A registration is impossible; the registry is unchanged.

    Example:
        >>> import leafwise as lw
        >>> lw.register_static(dict)
        Traceback (most recent call last):
        ...
        leafwise.errors.RegistryError: dict is a built-in node type and cannot be \
registered; register a subclass of it instead
    """


class NamespaceError(RegistryError, LookupError):
    """An undeclared namespace was used.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_leaves([1], namespace="nowhere")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        leafwise.errors.NamespaceError: no namespace 'nowhere' was declared; ...
    """
