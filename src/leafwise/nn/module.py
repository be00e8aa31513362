"""`Module`: the base class of models, with the methods that NNX and PAX have."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from .._records import MISSING
from .._text import safe_repr
from ..core.codec import aux_form_of
from ..core.node import NodeType
from ..errors import TreeDefError
from ..fields import Kind, Marked
from ..ops.map import tree_map
from .capturing import can_store, read_stored, store, type_of
from .editing import Mode, set_attributes, set_modes
from .filters import Path
from .graph import iter_graph
from .pytree import Pytree, PytreeSpec, name_to_kind
from .spec import spec_of
from .variables import Perturbation, Variable


__all__ = ["Module", "iter_modules"]

V = TypeVar("V")

_MODE: Final[Any] = Mode()


class ModuleSpec(PytreeSpec):
    """The description of a class of modules."""

    is_module = True


# In the order of assignment, as in PAX: the leaves are in the order of registration.
# States and gradients follow the module, so that their leaves can be paired.
class Module(Pytree, order="insertion", kind=Kind.MODULE, spec=ModuleSpec):
    """Base class of modules, whose attributes are parameters, state or other modules.

    A module is a `Pytree` whose children are in the order of their first assignment. An
    attribute whose first value is a module is of kind `MODULE`. If an attribute was
    inferred to be static and you assign data to it later, it takes the kind of that
    value.

    A class or an instance may use the names of the methods for other purposes. A field
    of a dataclass with such a name needs a default, or the decorator
    `leafwise.dataclass`.

    Attributes:
        name_to_kind: The kind of each attribute, in order of assignment. The mapping is
            read-only and does not reflect later changes to the module.
        is_training: Whether the module is in training mode, which is the default. It is
            part of the structure.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Counter(nn.Module):
        ...     def __init__(self):
        ...         self.register_state("count", 0)
        ...         self.register_parameter("bias", 0.0)
        ...     def step(self):
        ...         self.count += 1
        >>> counter = Counter()
        >>> counter.step()
        >>> lw.tree_leaves(counter)
        [1, 0.0]
        >>> counter.name_to_kind["bias"]
        <Kind.PARAMETER: 'parameter'>

    The kinds are those of PAX. The class combines the modules of PAX and Flax NNX.
    """

    @property
    def name_to_kind(self) -> Mapping[str, Kind]:
        """Return the kind of each attribute."""
        return name_to_kind(self)

    def register_subtree(self, name: str, value: Any) -> None:
        """Assign an attribute of the general kind `DATA`.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.DATA, value))

    def register_parameter(self, name: str, value: Any) -> None:
        """Assign an attribute that is a parameter: data that is trained.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.PARAMETER, value))

    def register_state(self, name: str, value: Any) -> None:
        """Assign an attribute that is state: data that is not trained.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.STATE, value))

    def register_module(self, name: str, value: Any) -> None:
        """Assign an attribute that is a module, or a tree with modules in it.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.MODULE, value))

    # --------------------------------------------------------------------- modes

    is_training: bool = _MODE

    def train(self, **attributes: Any) -> Self:
        """Switch this module and all objects in it to training mode, in place.

        Args:
            **attributes: Further attributes to set; see :func:`~leafwise.nn.train`.

        Returns:
            The module itself.

        Example:
            >>> from leafwise import nn
            >>> module = nn.Module()
            >>> module.is_training, module.eval().is_training
            (True, False)
            >>> module.train().is_training
            True

        The method of this name in PAX returns a new module; the one in Flax NNX returns
        nothing.
        """
        set_modes(self, True, attributes)
        return self

    def eval(self, **attributes: Any) -> Self:
        """Switch this module and all objects in it to evaluation mode, in place.

        This is the opposite of `train`.

        Args:
            **attributes: Further attributes to set; see :func:`~leafwise.nn.eval`.

        Returns:
            The module itself.
        """
        set_modes(self, False, attributes)
        return self

    set_attributes = set_attributes

    # ------------------------------------------------------------------ as a tree

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """Return the children in order, and the aux data that the treedef keeps.

        Flattening does not call this method. If a class overrides it, instances are
        still flattened by the kinds of their attributes.

        Example:
            >>> from leafwise import nn
            >>> class Counter(nn.Module):
            ...     def __init__(self):
            ...         self.register_state("count", 0)
            ...         self.step = 2
            >>> children, aux = Counter().tree_flatten()
            >>> children, aux
            ([0], step=2)
            >>> Counter.tree_unflatten(aux, [5]).count
            5
        """
        children, aux = spec_of(self).node_type.flatten(self)
        return list(children), aux

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Sequence[Any]) -> Self:
        """Build a module from the children and aux data that `tree_flatten` returned.

        Args:
            aux: The aux data.
            children: The children, any objects.

        Raises:
            TreeDefError: The children or the aux data are not those of a module of this
                class.
        """
        node_type: NodeType = cls.__leafwise__.node_type
        children = list(children)
        # Unflattening checks nothing, and here the arguments are the caller's own.
        if not aux_form_of(node_type).fits(node_type, len(children), aux):
            raise TreeDefError(
                f"{cls.__qualname__} cannot be built from {len(children)} children and "
                f"{safe_repr(aux)}; pass what tree_flatten returned"
            )
        return node_type.unflatten(aux, children)  # type: ignore[no-any-return]  # a node

    # ------------------------------------------------------------- intermediates

    def sow(
        self,
        variable_type: type[Variable] | str,
        name: str,
        value: Any,
        *,
        reduce_fn: Callable[[Any, Any], Any] = lambda stored, value: (*stored, value),
        init_fn: Callable[[], Any] = tuple,
    ) -> bool:
        """Store a value under a name, by default after the values stored before.

        Args:
            variable_type: The type of variables that holds the values, or its name.
            name: The name of the attribute.
            value: The value.
            reduce_fn: Takes the stored value and the new value, and returns the value
                to store. By default it appends to a tuple.
            init_fn: Returns the initial stored value.

        Returns:
            Whether the value was stored. This is False only if `capture` captures other
            types.

        Raises:
            ValueError: The name belongs to a method, a value or a variable of another
                type; or no type has the given type name.

        Example:
            >>> from leafwise import nn
            >>> module = nn.Module()
            >>> _ = module.sow(nn.Intermediate, "seen", 1), module.sow(
            ...     "intermediates", "seen", 2)
            >>> nn.pop(module, nn.Intermediate).seen.value
            (1, 2)

        Modelled on `flax.nnx.Module.sow`.
        """
        cls = type_of(variable_type)
        stored = read_stored(self, cls, name)
        if not can_store(self, cls):
            return False
        if stored is MISSING:
            stored = init_fn()
        store(self, cls, name, reduce_fn(stored, value))
        return True

    def perturb(
        self,
        name: str,
        value: V,
        variable_type: type[Variable] | str = Perturbation,
    ) -> V:
        """Add a perturbation to a value; a new perturbation consists of zeros.

        The gradient with respect to the perturbation is the gradient at the value. No
        perturbation is created if `capture` captures other types.

        Args:
            name: The name of the attribute that holds the perturbation.
            value: A number, an array, or a tree of these.
            variable_type: The type of variables that holds it, or its name.

        Returns:
            The value with the perturbation added.

        Raises:
            ValueError: See `sow`.
            StructureError: The value has a different structure from before.

        Example:
            >>> from leafwise import nn
            >>> module = nn.Module()
            >>> module.perturb("x", {"a": 1.5})
            {'a': 1.5}
            >>> module.x.value = {"a": 0.5}
            >>> module.perturb("x", {"a": 1.5})
            {'a': 2.0}

        Modelled on `flax.nnx.Module.perturb`.
        """
        cls = type_of(variable_type)
        stored = read_stored(self, cls, name)
        if stored is MISSING:
            if not can_store(self, cls):
                return value
            stored = tree_map(_zeros_like, value)
            store(self, cls, name, stored)
        perturbed: V = tree_map(operator.add, stored, value)
        return perturbed


def _zeros_like(leaf: Any) -> Any:
    """Return zeros with the form of a number or an array."""
    if isinstance(leaf, int | float | complex) and not isinstance(leaf, bool):
        return type(leaf)(0)
    namespace = getattr(leaf, "__array_namespace__", None)
    if namespace is not None:
        return namespace().zeros_like(leaf)
    return leaf * 0  # as any array allows


def iter_modules(tree: Any) -> Iterator[tuple[Path, Module]]:
    """Yield the modules in a tree with their paths, inner modules first.

    A module that is in several places is yielded once.

    Args:
        tree: A tree.

    Yields:
        The path, a tuple of names, positions and keys, and the module.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Block(nn.Module):
        ...     def __init__(self):
        ...         self.inner = nn.Module()
        >>> [path for path, _ in nn.iter_modules(nn.List([Block(), nn.Module()]))]
        [(0, 'inner'), (0,), (1,), ()]

    Modelled on `flax.nnx.iter_modules`.
    """
    for path, value in iter_graph(tree):
        if isinstance(value, Module):
            yield path, value
