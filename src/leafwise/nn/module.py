"""`Module`: a tree of parameters, state and other modules; and what modules store.

Owns `sow` and `perturb`, and `capture`, which returns what they store on the way
through a function. Modules add names to their objects; for classes that should not
have these there is `Pytree`.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, get_origin

from ..core.walk import unlink
from ..equality.leaves import type_names
from ..errors import StructureError
from ..kinds import Kind, Marked
from ..ops.map import tree_map
from .instance import store
from .pytree import Pytree, name_to_kind
from .states import State, from_flat_state, unknown, walk_state
from .traverse import LEAVE, traverse
from .variables import Intermediate, Perturbation, Variable, make_variable
from .variables import variable_type as named_type


__all__ = [
    "CAPTURED",
    "Module",
    "capture",
    "iter_modules",
    "type_of",
    "zeros_like",
]

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


Path: TypeAlias = tuple[Any, ...]
Given: TypeAlias = dict[Path, dict[type[Variable], dict[Any, Any]]]
"""By the path of a module and a type of variables: values by name."""


def iter_modules(tree: Any) -> Iterator[tuple[Path, Module]]:
    """Yield the modules in a tree with their paths, those inside others first.

    A module that stands in several places comes once.

    Args:
        tree: A tree.

    Yields:
        The path, a tuple of names, positions and keys, and the module.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Block(nn.Module):
        ...     def __init__(self, *inner):
        ...         self.inner = lw.List(inner)
        >>> [path for path, _ in nn.iter_modules(Block(Block(), Block()))]
        [('inner', 0), ('inner', 1), ()]

    The idea is that of `flax.nnx.iter_modules`.
    """
    for event, link, value in traverse(tree):
        if event is LEAVE and isinstance(value, Module):
            yield unlink(link), value


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
        TypeError: There is no module, or something is not a type of variables.
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
