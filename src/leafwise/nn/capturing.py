"""What modules store while they are called: `capture`, and where `sow` puts values.

While a function is captured, each module has boxes: a variable for each captured type,
whose value is a dict by name. Otherwise a module stores a value as an attribute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, get_origin, overload

from .._records import MISSING
from .._text import short_repr
from ..equality.leaves import type_names
from ..errors import StructureError
from ..fields import Kind, Marked
from .filters import Path
from .graph import iter_graph
from .instance import assign, drop
from .pytree import Pytree, is_module
from .states import State, from_flat_state, no_such_item, walk_state
from .variables import Intermediate, Perturbation, Variable, make_variable
from .variables import variable_type as named_type


__all__ = ["capture"]

P = ParamSpec("P")
R = TypeVar("R")

Values: TypeAlias = dict[type[Variable], dict[Any, Any]]
"""Values of one module by their type and their name."""

CAPTURED: Final = "_leafwise_captured"
"""The attribute of a module with its boxes, in a tuple. It is data like others, so that
transforms inside of the captured function carry it along."""


# ------------------------------------------------------------------- where values are


def type_of(variable_type: type[Variable] | str) -> type[Variable]:
    """Return a type of variables, given by name or as the type.

    Raises:
        TypeError: It is another type.
    """
    if isinstance(variable_type, str):
        return named_type(variable_type)
    cls: Any = get_origin(variable_type) or variable_type
    if isinstance(cls, type) and issubclass(cls, Variable):
        return cls
    raise TypeError(f"expected a type of variables, got {short_repr(variable_type)}")


def read_stored(module: Pytree, cls: type[Variable], name: str) -> Any:
    """Return the value that a module stores under a name, MISSING if there is none.

    Raises:
        ValueError: The name belongs to something else.
    """
    box = _box_in(module, cls)
    if box is not None:
        return box.get_raw_value().get(name, MISSING)
    variable = _variable_in(module, cls, name)
    return MISSING if variable is None else variable.get_value()


def can_store(module: Pytree, cls: type[Variable]) -> bool:
    """Return whether a module stores values of a type: not if others are captured."""
    return CAPTURED not in vars(module) or _box_in(module, cls) is not None


def store(
    module: Pytree,
    cls: type[Variable],
    name: str,
    value: Any,
) -> None:
    """Store a value of a type that the module can store."""
    box = _box_in(module, cls)
    if box is not None:
        values = {**box.get_raw_value(), name: value}
        # Not by `set_value`: that of a subclass is for a single value.
        box.update_from_state(make_variable(Variable, values, {}))
        return
    variable = _variable_in(module, cls, name)
    if variable is None:
        setattr(module, name, cls(value))
    else:
        variable.set_value(value)


def _box_in(module: Pytree, cls: type[Variable]) -> Variable | None:
    """Return the box of a module for a type; None if that is not captured."""
    for box in vars(module).get(CAPTURED, ()):
        if type(box) is cls:
            return box
    return None


def _variable_in(module: Pytree, cls: type[Variable], name: str) -> Variable | None:
    """Return the variable in an attribute, None if there is no such attribute.

    Raises:
        ValueError: The attribute, or one of the class, is something else.
    """
    # By `getattr`: a method of the same name must not be hidden by the attribute.
    variable: Any = getattr(module, name, None)
    if name not in vars(module) and variable is None:
        return None
    if type(variable) is not cls:
        expected, actual = type_names(cls, type(variable))
        raise ValueError(
            f"Expected {name!r} of {type(module).__name__} to be of type "
            f"{expected!r}, got {actual!r}; choose another name"
        )
    return variable


# ------------------------------------------------------------------------- capturing


@overload
def capture(
    function: Callable[P, R], type: type[Variable] | str = ..., /
) -> Callable[P, tuple[R, State]]: ...


@overload
def capture(
    function: Callable[P, Any],
    /,
    *types: type[Variable] | str,
    init: Mapping[Any, Any] | None = ...,
) -> Callable[..., Any]: ...


def capture(
    function: Any,
    *types: type[Variable] | str,
    init: Mapping[Any, Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that also returns the values its modules store during the call.

    While it runs, `Module.sow` and `Module.perturb` create no attributes. A stored
    value is returned if its type is exactly one of the given types, and ignored
    otherwise. Afterwards the modules are as they were before, even if the function
    raises.

    Args:
        function: A module, a method of a module, or a function whose first argument is
            a module or a tree with modules in it. If you pass a type of variables
            instead, `capture` returns a decorator.
        *types: The types of variables to capture, or their names; `Intermediate` by
            default, and none with `init`. Subclasses are separate types: perturbations
            are captured as `Perturbation`.
        init: A state of initial values, such as perturbations, by the paths of the
            modules and the names that `sow` and `perturb` use. A bare value is a
            perturbation. Values of other types than those captured are not in the
            result.

    Returns:
        A function of the same arguments that returns a tuple: the result, and one state
        for each type; without types, the result alone.

    Raises:
        TypeError: There is no module, or an argument is not a type of variables.
        ValueError: No type has a given name.
        StructureError: `init` has a value for a path without a module. The function is
            not called.

    Example:
        >>> from leafwise import nn
        >>> class Model(nn.Module):
        ...     def __call__(self, x):
        ...         x = self.perturb("inner", x)
        ...         _ = self.sow(nn.Intermediate, "half", x / 2)
        ...         return x
        >>> model = Model()
        >>> result, seen = nn.capture(model)(3.0)
        >>> result, seen.half.value
        (3.0, (1.5,))
        >>> nn.capture(model, init={"inner": 1.0})(3.0)
        4.0

    Modelled on `flax.nnx.capture`.
    """
    if isinstance(function, type) and issubclass(function, Variable):
        return lambda decorated: capture(decorated, function, *types, init=init)
    captured_types = tuple([type_of(cls) for cls in types])
    if not types and init is None:
        captured_types = (Intermediate,)
    bound = getattr(function, "__self__", function)
    module = bound if is_module(bound) else None

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        root = module
        if root is None:
            root = _first_argument(function, args, kwargs)
        modules = [(path, each) for path, each in iter_graph(root) if is_module(each)]
        if not modules:
            raise TypeError(
                "the first argument of a captured function must be or contain a "
                f"module, got {type(root).__name__}"
            )
        initial_values = _initial_values(init, dict(modules))
        # An outer capture may have boxes in the same modules, which are put back.
        outer_boxes = [(each, vars(each).get(CAPTURED)) for _, each in modules]
        try:
            for path, each in modules:
                values: Values = {cls: {} for cls in captured_types}
                values.update(initial_values.get(path, {}))
                _set_boxes(each, _boxes_for(values))
            result = function(*args, **kwargs)
            states = [_captured_state(modules, cls) for cls in captured_types]
        finally:
            for each, boxes_before in outer_boxes:
                _set_boxes(each, boxes_before)
        return (result, *states) if states else result

    return captured


def _first_argument(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return the first argument of a call, None if it has no arguments."""
    bound_args = function.args if isinstance(function, functools.partial) else ()
    all_args = [*bound_args, *args, *kwargs.values()]
    return all_args[0] if all_args else None


def _boxes_for(values: Values) -> tuple[Variable, ...]:
    """Return boxes with initial values."""
    boxes = []
    for cls, values_of_type in values.items():
        # Without `__init__`, which may take other arguments in a subclass.
        boxes.append(make_variable(cls, values_of_type, {}))
    return tuple(boxes)


def _set_boxes(module: Pytree, boxes: tuple[Variable, ...] | None) -> None:
    """Give a module boxes, or take them away."""
    if boxes is not None:
        assign(module, CAPTURED, Marked(Kind.DATA, boxes))
    elif CAPTURED in vars(module):  # the function may have deleted it
        drop(module, CAPTURED)


def _initial_values(
    init: Mapping[Any, Any] | None, modules: Mapping[Path, Pytree]
) -> dict[Path, Values]:
    """Return the initial values by the path of the module.

    Raises:
        StructureError: There is no such module.
    """
    values: dict[Path, Values] = {}
    for path, value in walk_state(init or {}):
        module_path = path[:-1]
        if module_path not in modules or not path:
            raise StructureError(
                f"init has a value at {path}, but there is no module at {module_path}: "
                f"{no_such_item(module_path, dict.fromkeys(modules))}",
                path=path,
            )
        variable = value if isinstance(value, Variable) else Perturbation(value)
        values_in_module = values.setdefault(module_path, {})
        values_of_type = values_in_module.setdefault(type(variable), {})
        values_of_type[path[-1]] = variable.get_raw_value()
    return values


def _captured_state(
    modules: Iterable[tuple[Path, Pytree]], cls: type[Variable]
) -> State[Any, Any]:
    """Return the captured values of a type as a state of variables."""
    pairs = []
    for path, module in modules:
        box = _box_in(module, cls)
        if box is not None:
            for name, value in box.get_raw_value().items():
                pairs.append(((*path, name), cls(value)))
    return from_flat_state(pairs)
