"""`capture`: what modules store while a function runs, for its caller alone.

Owns where `sow` and `perturb` put what they store meanwhile, and that everything is as
it was afterwards, whatever happens. For the outputs of methods it puts functions that
store them in the place of the methods, for as long as something is captured; they do
nothing for objects that are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, overload

from ..errors import StructureError
from ..kinds import Kind, Marked
from ..safely import Guard, type_name
from .instance import store
from .module import CAPTURED, Module, iter_modules, type_of
from .states import State, from_flat_state, unknown, walk_state
from .variables import Intermediate, Perturbation, Variable, make_variable


__all__ = [
    "capture",
]

Path: TypeAlias = tuple[Any, ...]

Given: TypeAlias = dict[Path, dict[type[Variable], dict[Any, Any]]]
"""By the path of a module and a type of variables: values by name."""

P = ParamSpec("P")
R = TypeVar("R")


@overload
def capture(  # type: ignore[overload-overlap]  # a class can be called, too
    type: type[Variable],
    /,
    *,
    init: Mapping[Any, Any] | None = ...,
    method_outputs: type[Variable] | str | None = ...,
) -> Callable[[Callable[P, R]], Callable[P, tuple[R, State]]]: ...


@overload
def capture(  # type: ignore[overload-overlap]  # a class can be called, too
    type: type[Variable],
    /,
    *more: type[Variable] | str,
    init: Mapping[Any, Any] | None = ...,
    method_outputs: type[Variable] | str | None = ...,
) -> Callable[[Callable[P, Any]], Callable[P, tuple[Any, ...]]]: ...


@overload
def capture(
    function: Callable[P, R],
    type: type[Variable] | str = ...,
    /,
    *,
    init: Mapping[Any, Any] | None = ...,
    method_outputs: type[Variable] | str | None = ...,
) -> Callable[P, tuple[R, State]]: ...


@overload
def capture(
    function: Callable[P, R],
    first: type[Variable] | str,
    second: type[Variable] | str,
    /,
    *,
    init: Mapping[Any, Any] | None = ...,
    method_outputs: type[Variable] | str | None = ...,
) -> Callable[P, tuple[R, State, State]]: ...


@overload
def capture(
    function: Callable[P, Any],
    /,
    *types: type[Variable] | str,
    init: Mapping[Any, Any] | None = ...,
    method_outputs: type[Variable] | str | None = ...,
) -> Callable[P, tuple[Any, ...]]: ...


def capture(
    function: Any,
    *types: type[Variable] | str,
    init: Mapping[Any, Any] | None = None,
    method_outputs: type[Variable] | str | None = None,
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
            default. Subclasses are separate types: perturbations are captured as
            `Perturbation`.
        init: A state of initial values, such as perturbations, by the paths of the
            modules and the names that `sow` and `perturb` use. A bare value is a
            perturbation. Values of other types than those captured are not in the
            result.
        method_outputs: A type of variables for the return values of methods, which are
            then stored under the method's name, as `sow` does. This covers `__call__`
            and public methods that the module's own class defines. The type is one of
            the captured types, or the only one.

    Returns:
        A function of the same arguments that returns a tuple: the result, and one state
        for each type.

    Raises:
        TypeError: There is no module, or an argument is not a type of variables.
        ValueError: No type has a given name, or `method_outputs` is not one of the
            types.
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
        >>> result, seen = nn.capture(model, init={"inner": 1.0})(3.0)
        >>> result, nn.to_pure_dict(seen)
        (4.0, {'half': (2.0,)})
        >>> _, seen = nn.capture(model, method_outputs=nn.Intermediate)(3.0)
        >>> nn.to_pure_dict(seen)
        {'half': (1.5,), '__call__': (3.0,)}

    Modelled on `flax.nnx.capture`.
    """
    if isinstance(function, type) and issubclass(function, Variable):
        options = {"init": init, "method_outputs": method_outputs}
        return functools.partial(_decorated, (function, *types), options)
    wanted, outputs = _wanted(types, method_outputs)
    bound = getattr(function, "__self__", function)
    module = bound if isinstance(bound, Module) else None
    if module is None and not callable(function):
        raise TypeError(
            "capture takes a module, a method of a module or a function of a module, "
            f"got {type_name(function)}"
        )

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        root = module if module is not None else _first(function, args, kwargs)
        modules = [*iter_modules(root)]
        if not modules:
            raise _no_module(type_name(root))
        undo = _begin(modules, wanted, _given(init, dict(modules)), outputs)
        try:
            result = function(*args, **kwargs)
            states = [_found(modules, cls) for cls in wanted]
        finally:
            for take_back in reversed(undo):
                take_back()
        return result, *states

    return captured


def _decorated(types: tuple[Any, ...], options: Any, function: Any) -> Any:
    return capture(function, *types, **options)


def _wanted(
    types: tuple[Any, ...], method_outputs: Any
) -> tuple[tuple[type[Variable], ...], type[Variable] | None]:
    """Return the types to capture, and that of the outputs of methods."""
    wanted = tuple(map(_checked_type, types))
    if method_outputs is None:
        return wanted or (Intermediate,), None
    outputs = _checked_type(method_outputs)
    if wanted and outputs not in wanted:
        raise ValueError(
            f"method_outputs is {outputs.__name__!r}, which is not one of the types to "
            "capture; add it to them"
        )
    return wanted or (outputs,), outputs


def _checked_type(wanted: Any) -> type[Variable]:
    cls = type_of(wanted)
    if isinstance(cls, type) and issubclass(cls, Variable):
        return cls
    raise TypeError(f"capture takes variable types, got {wanted!r}")


def _first(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the first argument of a call, one that is bound already included."""
    if isinstance(function, functools.partial):
        args = (*function.args, *args)
    given = [*args, *kwargs.values()]
    if not given:
        raise _no_module("nothing")
    return given[0]


def _no_module(found: str) -> TypeError:
    return TypeError(
        "the first argument of a captured function must be or contain a module, got "
        f"{found}"
    )


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
    outputs: type[Variable] | None,
) -> list[Callable[[], None]]:
    """Give each module its boxes; return what takes them away again."""
    undo: list[Callable[[], None]] = []
    for path, module in modules:
        values: dict[type[Variable], dict[Any, Any]] = {cls: {} for cls in wanted}
        values |= given.get(path, {})
        boxes = tuple(make_variable(cls, held, {}) for cls, held in values.items())
        undo.append(store(module, CAPTURED, Marked(Kind.DATA, boxes)))
        if outputs is not None:
            undo.append(store(module, _OUTPUTS, Marked(Kind.STATIC, outputs)))
            undo.append(_record(type(module)))
    return undo


# ----------------------------------------------------------- outputs of methods

_OUTPUTS: Final = "_leafwise_outputs"
"""The attribute of a module that says of which type the outputs of its methods are."""


class _Recorded:
    """A class whose methods store what they return.

    Attributes:
        count: For how many modules.
        methods: Its methods, and what stands for them, by name.
    """

    __slots__ = ("count", "methods")

    def __init__(self) -> None:
        self.count = 0
        self.methods: dict[str, tuple[Any, Any]] = {}


_guard: Final = Guard()
_recorders: Final[dict[type, _Recorded]] = {}


def _record(cls: type[Module]) -> Callable[[], None]:
    """Let the methods of a class store what they return; return what ends it."""
    with _guard.lock:
        known = _recorders.setdefault(cls, _Recorded())
        known.count += 1
        if known.count == 1:
            for name, method in [*_methods(cls)]:
                made = _recorder(cls, name, method)
                known.methods[name] = method, made
                setattr(cls, name, made)
    return functools.partial(_stop_recording, cls)


def _stop_recording(cls: type[Module]) -> None:
    with _guard.lock:
        known = _recorders[cls]
        known.count -= 1
        if known.count:
            return
        del _recorders[cls]
        for name, (method, made) in known.methods.items():
            if vars(cls).get(name) is made:  # or somebody replaced it meanwhile
                setattr(cls, name, method)


def _methods(cls: type[Module]) -> Iterator[tuple[str, Any]]:
    """Yield the methods that a class itself defines for others to call."""
    for name, method in vars(cls).items():
        is_public = not name.startswith("_") and name not in ("perturb", "sow")
        if (is_public or name == "__call__") and (
            callable(method)
            and hasattr(type(method), "__get__")
            and not isinstance(method, staticmethod | type)
        ):
            yield name, method


def _recorder(cls: type[Module], name: str, method: Any) -> Any:
    """Return a method that does the same, and stores what it returns."""

    @functools.wraps(method, updated=())
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method.__get__(self, type(self))(*args, **kwargs)
        outputs = vars(self).get(_OUTPUTS) if type(self) is cls else None
        if outputs is not None:
            self.sow(outputs, name, result)
        return result

    return recorded


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
