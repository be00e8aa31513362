"""`Module`: a tree of parameters, state and other modules.

Owns the methods by which an attribute is registered under a kind, and those by which
values that come up on the way are stored. What works on whole trees of modules is a
function, in `surgery` and `roam`, so that names stay free for those who write classes.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, get_origin

from ..core.values import type_names
from ..kinds import Kind, Marked
from ..ops.map import tree_map
from .pytree import Pytree, name_to_kind
from .variable_types import Perturbation
from .variable_types import variable_type as named_type
from .variables import Variable, make_variable


__all__ = ["CAPTURED", "Module", "type_of", "zeros_like"]

CAPTURED: Final = "_leafwise_captured"
"""The attribute of a module that holds what it stores while it is captured: a tuple
with a variable for each type that is wanted, whose value is a dict by name."""


def _append(stored: Any, value: Any) -> Any:
    return (*stored, value)


class Module(Pytree, order="insertion", kind=Kind.MODULE):
    """Base of modules: trees whose attributes are parameters, state, or modules.

    A `Pytree` whose children come in the order in which they were first assigned.
    An attribute that is first assigned a module is of kind `MODULE`.

    Attributes:
        name_to_kind: The kind of each attribute, in order of assignment; read-only,
            and not changed by what happens to the module later.

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

    The kinds are those of PAX, the class is that of PAX and of Flax NNX in one.
    """

    @property
    def name_to_kind(self) -> Mapping[str, Kind]:
        """Return the kind of each attribute."""
        return name_to_kind(self)

    def register_subtree(self, name: str, value: Any) -> None:
        """Assign an attribute that is data of no closer kind.

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
        """Assign an attribute that is a module, or a tree with modules inside.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.MODULE, value))

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
        """Store a value under a name, together with those stored there before.

        Args:
            variable_type: The type of variables that holds the values, or its name.
            name: The name of the attribute.
            value: The value.
            reduce_fn: Takes what is stored and the value, returns what is stored
                then; by default a longer tuple.
            init_fn: Returns what is stored at first.

        Returns:
            Whether it was stored; always, except where `capture` wants other types.

        Raises:
            ValueError: The name belongs to something else: a method, a value, a
                variable of another type; or no type has the name that was given.

        Example:
            >>> from leafwise import nn
            >>> module = nn.Module()
            >>> _ = module.sow(nn.Intermediate, "seen", 1), module.sow(
            ...     "intermediates", "seen", 2)
            >>> nn.pop(module, nn.Intermediate).seen.value
            (1, 2)

        The idea is that of `flax.nnx.Module.sow`.
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
        value: Any,
        variable_type: type[Variable] | str = Perturbation,
    ) -> Any:
        """Add a perturbation to a value: zeros of its form, when it is met first.

        What is differentiated for the perturbation is the gradient at the value. Where
        `capture` wants other types, none is made.

        Args:
            name: The name of the attribute that holds the perturbation.
            value: A number, an array, or a tree of these.
            variable_type: The type of variables that holds it, or its name.

        Returns:
            The value with the perturbation added.

        Raises:
            ValueError: As `sow`.
            StructureError: The value has another structure than before.

        Example:
            >>> from leafwise import nn
            >>> module = nn.Module()
            >>> module.perturb("x", {"a": 1.5})
            {'a': 1.5}
            >>> module.x.value = {"a": 0.5}
            >>> module.perturb("x", {"a": 1.5})
            {'a': 2.0}

        The idea is that of `flax.nnx.Module.perturb`.
        """
        cls = type_of(variable_type)
        box = self._leafwise_box(cls)
        if box is not None:
            if name not in box.get_raw_value():
                _keep(box, name, tree_map(zeros_like, value))
            return tree_map(operator.add, box.get_raw_value()[name], value)
        variable = self._leafwise_variable(cls, name)
        if variable is None:
            if CAPTURED in vars(self):
                return value
            variable = cls(tree_map(zeros_like, value))
            setattr(self, name, variable)
        return tree_map(operator.add, variable.get_value(), value)

    def _leafwise_box(self, cls: type[Variable]) -> Variable | None:
        """Return what holds the values of a type while they are captured."""
        boxes = vars(self).get(CAPTURED, ())
        return next((box for box in boxes if type(box) is cls), None)

    def _leafwise_variable(self, cls: type[Variable], name: str) -> Variable | None:
        """Return the variable of a name, None if the name is free."""
        found = getattr(self, name, None)
        if found is None and name not in vars(self):
            return None
        if not isinstance(found, Variable):
            raise ValueError(
                f"Expected {name!r} of {type(self).__name__} to be a Variable, got "
                f"{type(found).__name__}; choose another name"
            )
        if type(found) is not cls:
            expected, actual = type_names(cls, type(found))
            raise ValueError(
                f"Expected {name!r} of {type(self).__name__} to be of type "
                f"{expected!r}, got {actual!r}; choose another name"
            )
        return found


def _keep(box: Variable, name: str, value: Any) -> None:
    """Put a value under a name into a box; hooks of the type are for single values."""
    held = {**box.get_raw_value(), name: value}
    box.update_from_state(make_variable(Variable, held, {}))


def type_of(variable_type: type[Variable] | str) -> type[Variable]:
    """Return a type of variables that is given by its name, or itself."""
    if isinstance(variable_type, str):
        return named_type(variable_type)
    return get_origin(variable_type) or variable_type


def zeros_like(leaf: Any) -> Any:
    """Return zeros of the form of a number or an array."""
    if isinstance(leaf, int | float | complex) and not isinstance(leaf, bool):
        return type(leaf)(0)
    namespace = getattr(leaf, "__array_namespace__", None)
    if namespace is not None:
        return namespace().zeros_like(leaf)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(leaf, torch.Tensor):
        return torch.zeros_like(leaf)
    return leaf * 0
