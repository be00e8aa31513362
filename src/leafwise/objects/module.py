"""`Module`: a tree of parameters, state and other modules.

Owns the methods by which an attribute is registered under a kind, and those by which
values that come up on the way are stored. What works on whole trees of modules is a
function, in `surgery` and `roam`, so that names stay free for those who write classes.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..core.values import type_names
from ..kinds import Kind, Marked
from ..ops.basic import tree_map
from .change import pop, update
from .filters import Filter
from .pytree import Pytree, name_to_kind
from .variable_types import Intermediate, Perturbation
from .variable_types import variable_type as named_type
from .variables import Variable


__all__ = ["Module", "capture", "zeros_like"]


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
        >>> class Counter(lw.Module):
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
            True.

        Raises:
            ValueError: The name belongs to something else: a method, a value, a
                variable of another type; or no type has the name that was given.

        Example:
            >>> import leafwise as lw
            >>> module = lw.Module()
            >>> _ = module.sow(lw.Intermediate, "seen", 1), module.sow(
            ...     "intermediates", "seen", 2)
            >>> lw.pop(module, lw.Intermediate).seen.value
            (1, 2)

        The idea is that of `flax.nnx.Module.sow`.
        """
        variable = self._leafwise_variable(variable_type, name)
        if variable is None:
            cls = _type_of(variable_type)
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

        What is differentiated for the perturbation is the gradient at the value.

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
            >>> import leafwise as lw
            >>> module = lw.Module()
            >>> module.perturb("x", {"a": 1.5})
            {'a': 1.5}
            >>> module.x.value = {"a": 0.5}
            >>> module.perturb("x", {"a": 1.5})
            {'a': 2.0}

        The idea is that of `flax.nnx.Module.perturb`.
        """
        variable = self._leafwise_variable(variable_type, name)
        if variable is None:
            variable = _type_of(variable_type)(tree_map(zeros_like, value))
            setattr(self, name, variable)
        return tree_map(operator.add, variable.get_value(), value)

    def _leafwise_variable(
        self, variable_type: type[Variable] | str, name: str
    ) -> Variable | None:
        """Return the variable of a name, None if the name is free."""
        cls = _type_of(variable_type)
        found = getattr(self, name, None)
        if found is None and name not in self.name_to_kind:
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


def _type_of(variable_type: type[Variable] | str) -> type[Variable]:
    if isinstance(variable_type, str):
        return named_type(variable_type)
    return variable_type


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


def capture(
    function: Any, *types: Filter, init: Mapping[Any, Any] | None = None
) -> Callable[..., Any]:
    """Return a function that also returns what the modules store on the way.

    What is stored is taken out of the modules again, also if the function fails.

    Args:
        function: A module, or a method of one.
        *types: What to take out: types of variables or other filters,
            `Intermediate` if none is given.
        init: A state to put into the modules before, such as perturbations.

    Returns:
        A function of the same arguments that returns a tuple: the result, and one
        state for each type.

    Raises:
        TypeError: `function` is neither a module nor a method of one.

    Example:
        >>> import leafwise as lw
        >>> class Model(lw.Module):
        ...     def __call__(self, x):
        ...         _ = self.sow(lw.Intermediate, "half", x / 2)
        ...         return x
        >>> result, seen = lw.capture(Model())(3.0)
        >>> result, seen.half.value
        (3.0, (1.5,))

    The idea is that of `flax.nnx.capture`.
    """
    module = getattr(function, "__self__", function)
    if not isinstance(module, Module):
        raise TypeError(
            f"capture takes a module or a method of one, got {type(function).__name__}"
        )
    wanted = types or (Intermediate,)

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        if init is not None:
            update(module, init)
        try:
            result = function(*args, **kwargs)
        finally:
            found = pop(module, *wanted)
        states = found if len(wanted) > 1 else (found,)
        return result, *states

    return captured
