"""`capture`: what modules store while a function runs, for its caller alone.

Owns where `sow` and `perturb` put what they store meanwhile, and that everything is as
it was afterwards, whatever happens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from ..errors import StructureError
from ..kinds import Kind, Marked
from ..safely import type_name
from .instance import assign, drop
from .module import CAPTURED, Module, iter_modules, type_of
from .states import State, from_flat_state, unknown, walk_state
from .variables import Intermediate, Perturbation, Variable, make_variable


__all__ = [
    "capture",
]

Path: TypeAlias = tuple[Any, ...]

Values: TypeAlias = dict[Path, dict[type[Variable], dict[Any, Any]]]
"""By the path of a module and a type of variables: values by name."""

P = ParamSpec("P")
R = TypeVar("R")


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
    wanted = tuple(map(_checked_type, types))
    if not types and init is None:
        wanted = (Intermediate,)
    bound = getattr(function, "__self__", function)
    module = bound if isinstance(bound, Module) else None
    if module is None and not callable(function):
        raise TypeError(
            "capture takes a module, a method of a module or a function of a module, "
            f"got {type_name(function)}"
        )

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        before = function.args if isinstance(function, functools.partial) else ()
        given = [*before, *args, *kwargs.values()]
        root: Any = next(iter(given), None) if module is None else module
        modules = [*iter_modules(root)]
        if not modules:
            raise TypeError(
                "the first argument of a captured function must be or contain a "
                f"module, got {type_name(root)}"
            )
        initial = _initial(init, dict(modules))
        outer = [(one, vars(one).get(CAPTURED)) for _, one in modules]
        try:
            for path, one in modules:
                values = {**{cls: {} for cls in wanted}, **initial.get(path, {})}
                boxes = tuple(make_variable(cls, x, {}) for cls, x in values.items())
                assign(one, CAPTURED, Marked(Kind.DATA, boxes))
            result = function(*args, **kwargs)
            states = [_found(modules, cls) for cls in wanted]
        finally:
            for one, boxes_before in outer:
                if boxes_before is not None:
                    assign(one, CAPTURED, Marked(Kind.DATA, boxes_before))
                elif CAPTURED in vars(one):
                    drop(one, CAPTURED)
        return (result, *states) if states else result

    return captured


def _checked_type(wanted: Any) -> type[Variable]:
    cls = type_of(wanted)
    if isinstance(cls, type) and issubclass(cls, Variable):
        return cls
    raise TypeError(f"capture takes variable types, got {wanted!r}")


def _initial(init: Mapping[Any, Any] | None, modules: Mapping[Path, Module]) -> Values:
    """Return the values to begin with, each where its module will look for it.

    Raises:
        StructureError: There is no such module.
    """
    given: Values = {}
    for path, value in walk_state(init or {}):
        above, name = path[:-1], path[-1:]
        if above not in modules or not name:
            raise StructureError(
                f"init has a value at {path}, but there is no module at {above}: "
                f"{unknown(above, dict.fromkeys(modules))}",
                path=path,
            )
        box = value if isinstance(value, Variable) else Perturbation(value)
        held = given.setdefault(above, {}).setdefault(type(box), {})
        held[name[0]] = box.get_raw_value()
    return given


def _found(
    modules: Iterable[tuple[Path, Module]], cls: type[Variable]
) -> State[Any, Any]:
    """Return what the boxes of a type have in them, in variables."""
    return from_flat_state(
        ((*path, name), cls(value))
        for path, module in modules
        for box in vars(module)[CAPTURED]
        if type(box) is cls
        for name, value in box.get_raw_value().items()
    )
