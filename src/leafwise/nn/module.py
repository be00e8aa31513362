"""`Module`: the base of models, with the methods that NNX and PAX have.

Owns the class, the names for its kinds of attributes, what modules store with `sow` and
`perturb`, and training mode.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Self,
    TypeAlias,
    TypeVar,
    get_origin,
)

from .. import show
from ..equality.leaves import type_names
from ..errors import StructureError, TreeDefError
from ..kinds import Kind, Marked
from ..lazy import real
from ..ops.map import tree_map
from ..safely import class_name, shown, type_name
from .functional import clone, state, update
from .graph import iter_graph
from .model import eval as to_evaluation
from .model import recursive_map
from .model import train as to_training
from .pytree import EVALUATING, Pytree, name_to_kind, replace
from .states import replace_by_pure_dict, to_flat_state, to_pure_dict, walk_state
from .variables import Perturbation, Variable, make_variable
from .variables import variable_type as named_type


if TYPE_CHECKING:
    from ..show.summary import TreeSummary


__all__ = [
    "Module",
    "iter_modules",
]

Path: TypeAlias = tuple[Any, ...]
V = TypeVar("V")

CAPTURED: Final = "_leafwise_captured"
"""The attribute of a module that holds what it stores while it is captured: a tuple
with a variable for each type that is wanted, whose value is a dict by name."""


def _append(stored: Any, value: Any) -> Any:
    return (*stored, value)


class _Mode:
    """Return whether a module is in training mode; an attribute goes first."""

    def __get__(self, obj: Any, _cls: Any = None) -> Any:
        return self if obj is None else EVALUATING not in vars(obj)


class Module(Pytree, order="insertion", kind=Kind.MODULE):
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

    _leafwise_is_module: ClassVar[bool] = True

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

    if TYPE_CHECKING:
        is_training: bool
    else:
        is_training = _Mode()

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
        to_training(self, **attributes)
        return self

    def eval(self, **attributes: Any) -> Self:
        """Switch this module and all objects in it to evaluation mode, in place.

        This is the opposite of `train`.

        Args:
            **attributes: Further attributes to set; see :func:`~leafwise.nn.eval`.

        Returns:
            The module itself.
        """
        to_evaluation(self, **attributes)
        return self

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
        children, aux = type(self)._leafwise_spec.rule.flatten(self)
        return [*children], aux

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
        rule, kids = cls._leafwise_spec.rule, [*children]
        if not rule.validate(len(kids), aux):
            raise TreeDefError(
                f"{class_name(cls)} cannot be built from {len(kids)} children and "
                f"{shown(aux)}; pass what tree_flatten returned"
            )
        made: Self = rule.unflatten(aux, kids)
        return made

    def replace(self, **changes: Any) -> Self:
        """Return a copy with new values for some attributes.

        Args:
            **changes: The new values, by name; see :func:`~leafwise.nn.replace`.

        Raises:
            AttributeError: The module has no attribute with a given name.
            KindError: An attribute cannot hold the new value.

        Example:
            >>> from leafwise import nn
            >>> class Layer(nn.Module):
            ...     def __init__(self, size):
            ...         self.size = size
            >>> Layer(3).replace(size=4).size
            4
        """
        return replace(self, **changes)

    def apply(self, function: Callable[[Any], Any]) -> Any:
        """Return a copy with a function applied to each module, inner modules first.

        Args:
            function: Takes a module whose inner modules are already mapped; it may
                change that module. Returns the replacement.

        Returns:
            The result of the function for this module.

        Raises:
            TypeError: The function returned None.

        Example:
            >>> from leafwise import nn
            >>> class Layer(nn.Module):
            ...     def __init__(self, *inner):
            ...         self.inner, self.scale = nn.List(inner), 1
            >>> def twice(module):
            ...     return module.replace(scale=2 * module.scale)
            >>> Layer(Layer()).apply(twice).inner[0].scale
            2

        Modelled on `Module.apply` in PAX.
        """
        return recursive_map(functools.partial(_mapped, function), self)

    def summary(self) -> TreeSummary:
        """Return a table of the modules and variables in this module, with their sizes.

        See :func:`~leafwise.tree_summary`.
        """
        return show.tree_summary(self)

    def state_dict(self) -> dict[Any, Any]:
        """Return the values of all data in nested dicts, by name and position.

        Example:
            >>> import leafwise as lw
            >>> from leafwise import nn
            >>> class Model(nn.Module):
            ...     def __init__(self, by):
            ...         self.weight = nn.Param(by)
            ...         self.layers = nn.List([nn.Param(by)])
            >>> values = Model(0.5).state_dict()
            >>> values
            {'weight': 0.5, 'layers': {0: 0.5}}
            >>> Model(1.0).load_state_dict(values).layers[0].value
            0.5
            >>> lw.selection.to_flat(values, strict=False)
            {'weight': 0.5, 'layers[0]': 0.5}
        """
        return to_pure_dict(state(self))

    def load_state_dict(self, values: Mapping[Any, Any]) -> Self:
        """Write values into the module, in place.

        Args:
            values: Nested dicts, as `state_dict` returns them. The string `"0"`, which
                some file formats produce, denotes the position `0`.

        Returns:
            The module itself.

        Raises:
            StructureError: A value is missing.
            ValueError: There is no such place, or it cannot hold the value.

        If an exception is raised, nothing is changed.
        """
        new = clone(state(self))
        given = {tuple(map(str, path)) for path, _ in walk_state(values)}
        for path in to_flat_state(new):
            if tuple(map(str, path)) not in given:
                raise StructureError(f"there is no value for {path}", path=path)
        replace_by_pure_dict(new, values)
        update(self, new)
        return self

    # ------------------------------------------------------------- intermediates

    def sow(
        self,
        variable_type: type[Variable] | str,
        name: str,
        value: Any,
        *,
        reduce_fn: Callable[[Any, Any], Any] = _append,
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
        if CAPTURED in vars(self):
            box = self._leafwise_box(cls)
            if box is not None:
                known = box.get_raw_value()
                before = known[name] if name in known else init_fn()
                _keep(box, name, reduce_fn(before, value))
            return box is not None
        variable = self._leafwise_variable(cls, name)
        if variable is None:
            setattr(self, name, cls(reduce_fn(init_fn(), value)))
        else:
            variable.set_value(reduce_fn(variable.get_value(), value))
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
        box = self._leafwise_box(cls)
        if box is not None:
            if name not in box.get_raw_value():
                _keep(box, name, tree_map(zeros_like, value))
            raised: V = tree_map(operator.add, box.get_raw_value()[name], value)
            return raised
        variable = self._leafwise_variable(cls, name)
        if variable is None:
            if CAPTURED in vars(self):
                return value
            variable = cls(tree_map(zeros_like, value))
            setattr(self, name, variable)
        made: V = tree_map(operator.add, variable.get_value(), value)
        return made

    def _leafwise_box(self, cls: type[Variable]) -> Variable | None:
        """Return what holds the values of a type while they are captured."""
        boxes = vars(self).get(CAPTURED, ())
        return next((box for box in boxes if type(box) is cls), None)

    def _leafwise_variable(self, cls: type[Variable], name: str) -> Variable | None:
        """Return the variable of a name, None if the name is free."""
        found = getattr(self, name, None)
        if name not in vars(self) and found is None:
            return None
        if not isinstance(found, Variable):
            raise ValueError(
                f"Expected {name!r} of {type_name(self)} to be a Variable, got "
                f"{type_name(found)}; choose another name"
            )
        if type(found) is not cls:
            expected, actual = type_names(cls, type(found))
            raise ValueError(
                f"Expected {name!r} of {type_name(self)} to be of type "
                f"{expected!r}, got {actual!r}; choose another name"
            )
        return found


def _mapped(function: Callable[[Any], Any], _path: Any, value: Any) -> Any:
    """Map a module; leave all else as it is."""
    if not isinstance(value, Module):
        return value
    made = function(value)
    if made is None:
        raise TypeError(
            f"the function returned None for a {type_name(value)}; return the module "
            "or its replacement"
        )
    return made


def _keep(box: Variable, name: str, value: Any) -> None:
    """Put a value under a name into a box; hooks of the type are for single values."""
    held = {**box.get_raw_value(), name: value}
    box.update_from_state(make_variable(Variable, held, {}))


def type_of(variable_type: type[Variable] | str) -> type[Variable]:
    """Return a type of variables, given by name or as the type."""
    if isinstance(variable_type, str):
        return named_type(variable_type)
    return get_origin(variable_type) or variable_type


def zeros_like(leaf: Any) -> Any:
    """Return zeros with the form of a number or an array."""
    if isinstance(leaf, int | float | complex) and not isinstance(leaf, bool):
        return type(leaf)(0)
    namespace = getattr(leaf, "__array_namespace__", None)
    if namespace is not None:
        return namespace().zeros_like(leaf)
    torch = real("torch")
    if torch is not None and isinstance(leaf, torch.Tensor):
        return torch.zeros_like(leaf)
    return leaf * 0


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
        ...     def __init__(self, *inner):
        ...         self.inner = nn.List(inner)
        >>> [path for path, _ in nn.iter_modules(Block(Block(), Block()))]
        [('inner', 0), ('inner', 1), ()]

    Modelled on `flax.nnx.iter_modules`.
    """
    for path, value in iter_graph(tree):
        if isinstance(value, Module):
            yield path, value
