"""Functions of users: what they are bound to, and how messages name what they take.

Objects in bound methods and partials are arguments like others, so `unbind` takes them
out. Messages name an argument, or a value in it, as the code of the function does.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MethodType
from typing import Any, Final, TypeAlias, TypeVar

from ..._text import add_note, escape_controls, safe_repr, typed_repr
from ...core.reference import Structure
from ..checks import DataNode
from ..flatgraph import GraphDef, flatten_graph, structure_in
from ..instance import parts_of
from ..variables import Variable


__all__: list[str] = []

R = TypeVar("R")
Call: TypeAlias = Callable[..., Any]
Path: TypeAlias = tuple[Any, ...]

ARGS: Final = 0
KWARGS: Final = 1
BOUND: Final = 2
RESULT: Final = 3
"""What a path begins with: before a position, a name, and what is in the object that
the function is bound to, and in the result."""


# --------------------------------------------------------------- functions and objects


def has_objects(value: Any) -> bool:
    """Return whether a value is, or contains, objects or variables."""
    return bool(flatten_graph([value]).tracked)


def wraps(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(f"a transform takes a function, got {typed_repr(function)}")
    # The `__dict__` of a module that is called has its values, not attributes of code.
    updated = ("__dict__",) if isinstance(function, FunctionType) else ()
    return functools.wraps(function, updated=updated)


def check_options(name: str, options: Mapping[str, Any], option_types: Any) -> None:
    """Refuse options that a transform does not have, as Python does.

    Raises:
        TypeError: There is one.
    """
    for option in options:
        if option not in option_types.__annotations__:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {option!r}; its options "
                f"are {', '.join(option_types.__annotations__)}"
            )


def with_value(leaf: Any, value: Any) -> Any:
    """Return a gradient or an axis; in a variable if the leaf is one."""
    return leaf.replace(value) if isinstance(leaf, Variable) else value


# ------------------------------------------------------------------ bound functions


def unbind(function: Call) -> tuple[Call, Any]:
    """Take the objects out of a bound method, a partial, or an object to be called.

    Args:
        function: Any function.

    Returns:
        A function that takes, before the arguments, what was taken out, and that.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.nn.transforms.functions import unbind
        >>> items = lw.nn.List([1])
        >>> function, bound = unbind(items.append)
        >>> bound is items, function(bound, 2), [*items]
        (True, None, [1, 2])
    """
    if isinstance(function, MethodType) and has_objects(function.__self__):
        return function.__func__, function.__self__
    if isinstance(function, functools.partial):
        return _unbind_partial(function)
    if isinstance(function, DataNode):
        return lambda bound, *args, **kwargs: bound(*args, **kwargs), function
    return lambda _held, *args, **kwargs: function(*args, **kwargs), None


def _unbind_partial(function: functools.partial[Any]) -> tuple[Call, Any]:
    inner, inner_bound = unbind(function.func)
    pairs: list[Any] = list(enumerate(function.args))
    pairs += function.keywords.items()
    names = [name for name, value in pairs if has_objects(value)]
    arguments: dict[Any, Any] = dict(pairs)
    count = len(function.args)

    def call(bound: Any, *args: Any, **kwargs: Any) -> Any:
        filled = arguments | dict(zip(names, bound[1], strict=True))
        positional = [filled.pop(index) for index in range(count)]
        return inner(bound[0], *positional, *args, **{**filled, **kwargs})

    return call, (inner_bound, [arguments[name] for name in names])


class UserFunction:
    """A function that a transform calls on copies.

    Args:
        function: The function; objects are taken out of it as by `unbind`.

    Attributes:
        function: The function as it was given.
        call: Takes what the function is bound to before the arguments.
        bound: What it is bound to.
    """

    def __init__(self, function: Call) -> None:
        self.function: Call = function
        call, bound = unbind(function)
        self.call: Call = call
        self.bound: Any = bound

    def named(self, inside: Call) -> Call:
        """Return a function for jax, whose messages name the user's in its place."""
        renamed: Any = wraps(self.function)(inside)
        # The signature stays its own: by it jax finds the arguments that are donated.
        renamed.__signature__ = inspect.Signature.from_callable(
            inside, follow_wrapped=False
        )
        return inside

    def __str__(self) -> str:
        """Return the name of the function, with its file and line."""
        function: Any = self.function
        while isinstance(function, functools.partial):
            function = function.func
        function = inspect.unwrap(function)
        if not hasattr(function, "__qualname__"):  # a module that is called
            function = type(function).__call__
        code = getattr(function, "__code__", None)
        name = escape_controls(function.__qualname__)
        return (
            name
            if code is None
            else f"{name} at {code.co_filename}:{code.co_firstlineno}"
        )

    @functools.cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # such as a function that is written in C
            return []
        return list(signature.parameters.values())

    def place_name(self, path: Path, structure: Structure = None) -> str:
        """Return what stands at a path as in the code of the function.

        Args:
            path: The path; it begins with one of the numbers above.
            structure: The structure of arguments, keywords, and what is bound. Without
                it, attributes look like items.

        Example:
            >>> from leafwise.nn.transforms.functions import UserFunction
            >>> function = UserFunction(lambda model, config: None)
            >>> function.place_name((0, 1, "layers", 0))
            "config['layers'][0]"
        """
        root, *parts = path
        if structure is not None:
            structure = structure[2][root]
        if root == BOUND or not parts:
            name = "self" if isinstance(self.function, MethodType) else _ROOTS[root]
            return name + path_text(parts, structure)
        part, *parts = parts
        if structure is not None:
            structure = _child_at(structure, part)[1]
        name = part if root == KWARGS else self._name_of_argument(part)
        return name + path_text(parts, structure)

    def _name_of_argument(self, position: int) -> str:
        if position < len(self._parameters):
            parameter = self._parameters[position]
            if parameter.kind in _POSITIONAL:
                return parameter.name
        for first, parameter in enumerate(self._parameters):
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                return f"{parameter.name}[{position - first}]"
        return f"args[{position}]"

    def note_untraceable(
        self, error: TypeError, graphdef: GraphDef[Any], values: Iterable[Any], way: str
    ) -> None:
        """Note on an error which argument has a value that jax cannot trace, if any.

        Args:
            error: The error.
            graphdef: The structure of `(args, kwargs, bound)`.
            values: Its values.
            way: What to do, besides putting the value into a pytree.
        """
        for path, value in zip(graphdef.paths, values, strict=True):
            if dtype_of(value) is None:
                name = self.place_name(path, structure_in(graphdef))
                add_note(
                    error,
                    f"{name} of {self} is of type {type(value).__name__}, which jax "
                    f"cannot trace: {way}, or put the value into a static attribute of "
                    "a leafwise.Pytree",
                )
                return


def dtype_of(value: Any) -> Any:
    """Return the dtype that a value has for jax, None if jax cannot trace it."""
    try:
        return sys.modules["jax"].eval_shape(_identity, value).dtype
    except TypeError:
        return None


BIND: Final = "bind it with functools.partial"
"""What to do with a value where a transform has no static arguments."""

_ROOTS: Final = (
    "the arguments",
    "the keywords",
    "the object that the function is bound to",
    "the result",
)
_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _identity(value: R) -> R:
    return value


def path_text(path: Iterable[Any], structure: Structure = None) -> str:
    """Return a path as code: `.layers[0].w`.

    Args:
        path: Names, positions and keys.
        structure: The structure that they lead through, which knows attributes from
            items.
    """
    texts = []
    for part in path:
        text, structure = _child_at(structure, part)
        texts.append(text)
    return "".join(texts)


def _child_at(structure: Structure, part: Any) -> tuple[str, Structure]:
    """Return the key of a child as text, and its structure, None if it has none."""
    if structure is not None:
        node_type, aux, children = structure
        parts = parts_of(node_type, aux, len(children))
        if part in parts:
            index = parts.index(part)
            return str(node_type.keys(aux, len(children))[index]), children[index]
    return f"[{safe_repr(part)}]", None
