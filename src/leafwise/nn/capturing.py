"""Capturing: what modules store on the way through a function, and nothing else.

While a function is captured, each module has a box for each type of variables that is
wanted, in which `sow` and `perturb` keep what they would make attributes of. The boxes
are data of the modules, so they go through transforms, and are gone afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import StructureError
from ..kinds import Kind, Marked
from .instance import store
from .module import CAPTURED, Module, type_of
from .roam import iter_modules
from .states import State, from_flat_state, unknown, walk_state
from .variable_types import Intermediate, Perturbation
from .variables import Variable, make_variable


__all__ = ["capture"]

Path: TypeAlias = tuple[Any, ...]
Given: TypeAlias = dict[Path, dict[type[Variable], dict[Any, Any]]]
"""By the path of a module and a type of variables: values by name."""


def capture(
    function: Any,
    *types: type[Variable] | str,
    init: Mapping[Any, Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that also returns what the modules store on the way.

    While it runs, `Module.sow` and `Module.perturb` make no attributes: what they
    store is kept for the result if it is of just one of the types, and otherwise
    passed over. So the modules are afterwards as they were, also if it fails.

    Args:
        function: A module, a method of one, or a function whose first argument is
            one. A type of variables makes a decorator for such functions.
        *types: The types of variables to capture, or their names; `Intermediate` if
            there is none. Their subclasses are types of their own: perturbations are
            captured as `Perturbation`.
        init: A state of values to begin with, such as perturbations: by the paths of
            the modules and the names that `sow` and `perturb` use. A bare value is a
            perturbation. What is not of one of the types is not in the result.

    Returns:
        A function of the same arguments that returns a tuple: the result, and one
        state for each type.

    Raises:
        TypeError: There is no module, or a type is none.
        ValueError: Nothing has the name of a type.
        StructureError: `init` has a value where there is no module; the function is
            not called then.

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
        >>> result, seen = nn.capture(model, init={"inner": 1.0})(3.0)
        >>> result, nn.to_pure_dict(seen)
        (4.0, {'half': (2.0,)})

    The idea is that of `flax.nnx.capture`.
    """
    if isinstance(function, type) and issubclass(function, Variable):
        return functools.partial(_decorated, (function, *types), init)
    wanted = tuple(map(_checked_type, types)) or (Intermediate,)
    bound = getattr(function, "__self__", function)
    module = bound if isinstance(bound, Module) else None
    if module is None and not callable(function):
        raise TypeError(
            "capture takes a module, a method of one, or a function of one, got "
            f"{type(function).__name__}"
        )

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        root = module if module is not None else _first(args)
        modules = [*iter_modules(root)]
        undo = _begin(modules, wanted, _given(init, dict(modules)))
        try:
            result = function(*args, **kwargs)
            states = [_found(modules, cls) for cls in wanted]
        finally:
            for take_back in reversed(undo):
                take_back()
        return result, *states

    return captured


def _decorated(types: tuple[Any, ...], init: Any, function: Any) -> Any:
    return capture(function, *types, init=init)


def _checked_type(wanted: Any) -> type[Variable]:
    cls = type_of(wanted)
    if isinstance(cls, type) and issubclass(cls, Variable):
        return cls
    raise TypeError(f"capture takes types of variables, got {wanted!r}")


def _first(args: tuple[Any, ...]) -> Module:
    if args and isinstance(args[0], Module):
        return args[0]
    found = type(args[0]).__name__ if args else "nothing"
    raise TypeError(f"the first argument of what is captured is a module, got {found}")


# ---------------------------------------------------------------------- before


def _given(init: Mapping[Any, Any] | None, modules: Mapping[Path, Module]) -> Given:
    """Return the values to begin with, each where its module will look for it.

    Raises:
        StructureError: There is no such module.
    """
    given: Given = {}
    for path, value in walk_state(init or {}):
        above, name = path[:-1], path[-1:]
        if above not in modules or not name:
            known = dict.fromkeys(modules)
            raise StructureError(
                f"init has a value at {path}, but there is no module at {above}: "
                f"{unknown(above, known)}",
                path=path,
            )
        box = value if isinstance(value, Variable) else Perturbation(value)
        held = given.setdefault(above, {}).setdefault(type(box), {})
        held[name[0]] = box.get_raw_value()
    return given


def _begin(
    modules: Iterable[tuple[Path, Module]],
    wanted: tuple[type[Variable], ...],
    given: Given,
) -> list[Callable[[], None]]:
    """Give each module its boxes; return what takes them away again."""
    undo = []
    for path, module in modules:
        values: dict[type[Variable], dict[Any, Any]] = {cls: {} for cls in wanted}
        values |= given.get(path, {})
        boxes = tuple(make_variable(cls, held, {}) for cls, held in values.items())
        undo.append(store(module, CAPTURED, Marked(Kind.DATA, boxes)))
    return undo


# ----------------------------------------------------------------------- after


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
