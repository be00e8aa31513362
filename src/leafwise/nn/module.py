"""`Module`: the base class of models, with the methods that NNX and PAX have.

The functions here act on whole models: they capture what modules store, map them, set
attributes, train and freeze. Each object is visited once, whatever refers to it. A bare
parameter is frozen by the kind of its attribute, a variable by its metadata.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, ParamSpec, Self, TypeVar, get_origin, overload

from .._records import MISSING
from .._text import safe_repr, short_repr
from ..core.codec import aux_form_of
from ..core.node import NodeType
from ..equality.leaves import type_names
from ..errors import StructureError, TreeDefError
from ..fields import Kind, Marked
from ..ops.map import tree_map
from .checks import node_type_of
from .filters import Filter, judge, predicate
from .flatgraph import Path, flatten_graph, kinds_of
from .graph import (
    clone,
    copy_graph,
    is_node,
    iter_graph,
    write,
)
from .instance import (
    assign,
    below,
    check,
    decide,
    drop,
    kinds_in,
    record_of,
    set_kind,
)
from .pytree import MODE, Pytree, PytreeSpec, name_to_kind
from .spec import spec_of
from .states import State, from_flat_state, no_such_item, walk_state
from .statics import part_of
from .variables import (
    FROZEN,
    Intermediate,
    Perturbation,
    Variable,
    kind_in,
    make_variable,
)
from .variables import variable_type as named_type


__all__ = [
    "Module",
    "capture",
    "eval",
    "freeze",
    "iter_children",
    "iter_modules",
    "recursive_map",
    "set_attributes",
    "set_metadata",
    "train",
    "unfreeze",
    "with_attributes",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")

CAPTURED: Final = "_leafwise_captured"
"""The attribute of a module that holds what it stores while it is captured: a tuple
with a variable for each captured type, whose value is a dict by name. It is data like
others, so that transforms inside of the captured function carry it along."""


class _Mode:
    """Whether a module is in training mode, which is the default, and is not stored.

    A flag that the `__init__` of a module sets is an attribute as any other, and is
    stored; that of a module without one is marked as static.
    """

    def __get__(self, obj: Any, _cls: Any = None) -> Any:
        return self if obj is None else vars(obj).get(MODE, True)

    def __set__(self, obj: Any, value: Any) -> None:
        is_new = MODE not in vars(obj)
        if is_new:
            is_own = record_of(obj).is_building
        else:
            is_own = kinds_in(obj)[MODE] is not Kind.STATIC
        if is_own or value is not True:
            kind = decide(obj, MODE, value) or (None if is_own else Kind.STATIC)
            vars(obj)[MODE] = value
            set_kind(obj, MODE, kind)
        elif not is_new:
            drop(obj, MODE)


_MODE: Final[Any] = _Mode()


def set_attributes(tree: Any, *filters: Filter, **attributes: Any) -> None:
    """Set attributes of all objects in a tree that have them, in place.

    Args:
        tree: An object, or a container with objects in it.
        *filters: Which objects to change; all by default.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of a given name; nothing is changed.
        KindError: An attribute cannot hold its value; nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.active = True
        >>> model = nn.List([Dropout(), Dropout()])
        >>> nn.set_attributes(model, active=False)
        >>> [layer.active for layer in model]
        [False, False]

    Modelled on `flax.nnx.Module.set_attributes`.
    """
    writes = _attribute_writes(tree, filters, attributes)
    missing = attributes.keys() - {name for _, name, _ in writes}
    if missing:
        raise ValueError(
            "Could not find at least one instance of the following attributes: "
            f"{', '.join(sorted(missing))}"
        )
    for owner, name, value in writes:
        write(owner, name, value)


def _attribute_writes(
    tree: Any,
    filters: tuple[Filter, ...],
    attributes: dict[str, Any],
) -> list[tuple[Pytree, str, Any]]:
    """Return owner, name and value for each attribute to set, without setting it.

    Raises:
        KindError: An attribute cannot hold its value.
    """
    matches = predicate(filters or ...)
    writes = []
    for path, owner in iter_graph(tree):
        if not isinstance(owner, Pytree) or not matches(path, owner):
            continue
        for name, value in attributes.items():
            if name in kinds_in(owner):
                check(owner, name, value)
                writes.append((owner, name, value))
    return writes


class ModuleSpec(PytreeSpec):
    """The description of a class of modules."""

    is_module = True


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
        _set_modes(self, True, attributes)
        return self

    def eval(self, **attributes: Any) -> Self:
        """Switch this module and all objects in it to evaluation mode, in place.

        This is the opposite of `train`.

        Args:
            **attributes: Further attributes to set; see :func:`~leafwise.nn.eval`.

        Returns:
            The module itself.
        """
        _set_modes(self, False, attributes)
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
        stored, store = _stored(self, type_of(variable_type), name)
        if store is None:
            return False
        if stored is MISSING:
            stored = init_fn()
        store(reduce_fn(stored, value))
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
        stored, store = _stored(self, type_of(variable_type), name)
        if stored is MISSING:
            if store is None:
                return value
            stored = tree_map(zeros_like, value)
            store(stored)
        perturbed: V = tree_map(operator.add, stored, value)
        return perturbed


def _stored(
    module: Module, cls: type[Variable], name: str
) -> tuple[Any, Callable[[Any], None] | None]:
    """Return the value stored under a name, and a function that stores another one.

    The value is MISSING if there is none; the function is None while `capture` captures
    other types.

    Raises:
        ValueError: The name belongs to something else.
    """
    boxes = vars(module).get(CAPTURED)
    for box in boxes or ():
        if type(box) is cls:
            stored = box.get_raw_value().get(name, MISSING)
            return stored, functools.partial(_store_in_box, box, name)
    variable: Any = getattr(module, name, None)
    if name not in vars(module) and variable is None:

        def add(value: Any) -> None:
            setattr(module, name, cls(value))

        return MISSING, add if boxes is None else None
    if type(variable) is not cls:
        expected, actual = type_names(cls, type(variable))
        raise ValueError(
            f"Expected {name!r} of {type(module).__name__} to be of type "
            f"{expected!r}, got {actual!r}; choose another name"
        )
    return variable.get_value(), variable.set_value if boxes is None else None


def _store_in_box(box: Variable, name: str, value: Any) -> None:
    """Set a captured value; the `set_value` of a subclass is for single values."""
    values = {**box.get_raw_value(), name: value}
    box.update_from_state(make_variable(Variable, values, {}))


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


def zeros_like(leaf: Any) -> Any:
    """Return zeros with the form of a number or an array."""
    if isinstance(leaf, int | float | complex) and not isinstance(leaf, bool):
        return type(leaf)(0)
    namespace = getattr(leaf, "__array_namespace__", None)
    if namespace is not None:
        return namespace().zeros_like(leaf)
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
        ...     def __init__(self):
        ...         self.inner = nn.Module()
        >>> [path for path, _ in nn.iter_modules(nn.List([Block(), nn.Module()]))]
        [(0, 'inner'), (0,), (1,), ()]

    Modelled on `flax.nnx.iter_modules`.
    """
    for path, value in iter_graph(tree):
        if isinstance(value, Module):
            yield path, value


# ----------------------------------------------------------------------- capturing


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
    captured_types = tuple(type_of(cls) for cls in types)
    if not types and init is None:
        captured_types = (Intermediate,)
    bound = getattr(function, "__self__", function)
    module = bound if isinstance(bound, Module) else None

    @functools.wraps(function, updated=())
    def captured(*args: Any, **kwargs: Any) -> Any:
        root: Any = module
        if root is None:
            bound_args = ()
            if isinstance(function, functools.partial):
                bound_args = function.args
            root = next(iter([*bound_args, *args, *kwargs.values()]), None)
        modules = list(iter_modules(root))
        if not modules:
            raise TypeError(
                "the first argument of a captured function must be or contain a "
                f"module, got {type(root).__name__}"
            )
        initial = _initial(init, dict(modules))
        # An outer capture may have boxes in the same modules, which are put back.
        outer_boxes = [(each, vars(each).get(CAPTURED)) for _, each in modules]
        try:
            for path, each in modules:
                values: dict[type[Variable], Any] = {cls: {} for cls in captured_types}
                values.update(initial.get(path, {}))
                boxes = tuple(make_variable(cls, x, {}) for cls, x in values.items())
                assign(each, CAPTURED, Marked(Kind.DATA, boxes))
            result = function(*args, **kwargs)
            states = [_captured_state(modules, cls) for cls in captured_types]
        finally:
            for each, old_boxes in outer_boxes:
                if old_boxes is not None:
                    assign(each, CAPTURED, Marked(Kind.DATA, old_boxes))
                elif CAPTURED in vars(each):
                    drop(each, CAPTURED)
        return (result, *states) if states else result

    return captured


def _initial(init: Mapping[Any, Any] | None, modules: Mapping[Path, Module]) -> Any:
    """Return the initial values by the path of the module, the type and the name.

    Raises:
        StructureError: There is no such module.
    """
    values: dict[Path, dict[type[Variable], dict[Any, Any]]] = {}
    for path, value in walk_state(init or {}):
        module_path = path[:-1]
        if module_path not in modules or not path:
            raise StructureError(
                f"init has a value at {path}, but there is no module at {module_path}: "
                f"{no_such_item(module_path, dict.fromkeys(modules))}",
                path=path,
            )
        box = value if isinstance(value, Variable) else Perturbation(value)
        values_of_type = values.setdefault(module_path, {}).setdefault(type(box), {})
        values_of_type[path[-1]] = box.get_raw_value()
    return values


def _captured_state(
    modules: Iterable[tuple[Path, Module]], cls: type[Variable]
) -> State[Any, Any]:
    """Return the captured values of a type as a state of variables."""
    return from_flat_state(
        ((*path, name), cls(value))
        for path, module in modules
        for box in vars(module)[CAPTURED]
        if type(box) is cls
        for name, value in box.get_raw_value().items()
    )


# ------------------------------------------------------------------- whole models


def iter_children(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the objects and variables directly in an object, with their names.

    Args:
        node: An object.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> [key for key, _ in nn.iter_children(nn.Dict(a=nn.List(), b=lw.data(1)))]
        ['a']

    Modelled on `flax.nnx.iter_children`.
    """
    yield from ((part, child) for part, child in below(node) if is_node(child))


def recursive_map(function: Callable[[Path, Any], Any], tree: T) -> T:
    """Return a copy of an object with a function applied to each object and variable.

    Inner objects are mapped first, so the function receives objects with mapped
    contents.

    Args:
        function: Called with the path and the object or variable; returns its
            replacement.
        tree: An object, or nested lists and dicts; it is not changed.

    Raises:
        TypeError: An object is in an immutable container.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.List([nn.Param(1.0)])
        >>> nn.recursive_map(
        ...     lambda path, x: x.value if isinstance(x, nn.Param) else x, model)
        List([1.0])

    Modelled on `flax.nnx.recursive_map`.
    """
    copied = clone(tree)
    results: dict[int, Any] = {}
    originals: list[Any] = []  # kept alive, so that no id is used twice
    for path, value in list(iter_graph(copied)):
        for part, child in below(value):
            if id(child) in results and results[id(child)] is not child:
                write(
                    value,
                    None if isinstance(value, Variable) else part,
                    results[id(child)],
                )
        if is_node(value):
            originals.append(value)
            results[id(value)] = function(path, value)
    result: T = results.get(id(copied), copied)
    return result


def set_metadata(tree: Any, /, only: Filter = ..., **metadata: Any) -> None:
    """Set metadata of all variables in a tree, in place.

    Args:
        tree: An object, or a container with objects in it.
        only: A filter for the variables to change.
        **metadata: The metadata, by name.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.List([nn.Param(1.0)])
        >>> nn.set_metadata(model, nn.Param, unit="m")
        >>> model[0].unit
        'm'
    """
    matches = predicate(only)
    for path, value in iter_graph(tree):
        if isinstance(value, Variable) and matches(path, value):
            value.set_metadata(**metadata)


def train(tree: T, **attributes: Any) -> T:
    """Switch all objects in a tree to training mode, in place.

    Sets `training` and `is_training` to True, and `deterministic` and
    `use_running_average` to False, on all objects that have these attributes. Modules
    that do not define `is_training` are in training mode unless you called `eval`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Returns:
        The tree itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = True
        >>> nn.train([Dropout()])[0].deterministic
        False

    Modelled on `flax.nnx.train`.
    """
    _set_modes(tree, True, attributes)
    return tree


def eval(tree: T, **attributes: Any) -> T:
    """Switch all objects in a tree to evaluation mode, in place.

    This is the opposite of `train`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Returns:
        The tree itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = False
        >>> nn.eval([Dropout()])[0].deterministic
        True

    Modelled on `flax.nnx.eval`.
    """
    _set_modes(tree, False, attributes)
    return tree


def _set_modes(tree: Any, training: bool, attributes: dict[str, Any]) -> None:
    modes = {"training": training, MODE: training, **attributes}
    for flag in ("deterministic", "use_running_average"):
        modes.setdefault(flag, not training)
    for owner, name, value in _attribute_writes(tree, (), modes):
        write(owner, name, value)
    is_training = bool(modes[MODE])
    for _, value in list(iter_graph(tree)):
        if isinstance(value, Module):
            attribute = inspect.getattr_static(type(value), MODE)
            # A property of the user's own is not assigned.
            if type(attribute) is _Mode or not hasattr(attribute, "__get__"):
                assign(value, MODE, is_training)


def with_attributes(tree: T, *filters: Filter, **attributes: Any) -> T:
    """Return a copy of an object with other attributes; the copy shares its variables.

    Args:
        tree: An object, or a container with objects in it; it is not changed.
        *filters: Which objects to change; all by default.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of a given name.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.weight, self.active = nn.Param(1.0), True
        >>> layer = Layer()
        >>> other = nn.with_attributes(layer, active=False)
        >>> layer.active, other.active, other.weight is layer.weight
        (True, False, True)

    Modelled on `flax.nnx.with_attributes`.
    """
    copied = clone(tree, variables=False)
    set_attributes(copied, *filters, **attributes)
    return copied


def freeze(tree: T, only: Filter = ..., /) -> T:
    """Return a tree in which parameters count as state.

    Parameters are attributes of kind `PARAMETER` and variables such as `Param`, in
    attributes, containers and states. Frozen parameters are of kind `FROZEN`.
    `select_kind` returns them with the state, the filter `Param` does not match them,
    and `nn.value_and_grad` does not differentiate with respect to them.
    References within the tree are kept: a parameter in several places is frozen in all
    of them.

    Args:
        tree: An object, a variable, or a container with these in it.
        only: A filter for the parameters to freeze; all by default.

    Raises:
        TypeError: `tree` is a bare value, or `only` is not a filter.
        ValueError: The filter matches no parameter.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.bias = nn.Param(0.0)
        >>> frozen = nn.freeze(Layer())
        >>> [kind.name for kind in frozen.name_to_kind.values()]
        ['FROZEN', 'FROZEN']
        >>> partly = nn.freeze([Layer(), Layer()], nn.filters.PathContains(0))
        >>> lw.tree_leaves(nn.select_kind(partly, nn.Kind.PARAMETER))
        [0.5, 0.0]
        >>> nn.to_flat_state(nn.state(partly, nn.Param)).paths
        ((1, 'weight'), (1, 'bias'))

    Modelled on `freeze_parameters` in PAX.
    """
    return _with_parameters(tree, only, Kind.FROZEN, "freeze")


def unfreeze(tree: T, only: Filter = ..., /) -> T:
    """Return a tree in which frozen parameters are parameters again.

    Args:
        tree: An object, a variable, or a container with these in it.
        only: A filter for the parameters to unfreeze; all by default.

    Raises:
        TypeError, ValueError: See `freeze`.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 0)
        >>> again = nn.unfreeze(nn.freeze(Layer()))
        >>> [kind.name for kind in again.name_to_kind.values()]
        ['PARAMETER', 'STATE']

    Modelled on `unfreeze_parameters` in PAX.
    """
    return _with_parameters(tree, only, Kind.PARAMETER, "unfreeze")


def _with_parameters(tree: T, only: Filter, new_kind: Kind, verb: str) -> T:
    """Return a tree in which the parameters that a filter matches are of a kind."""
    if node_type_of(type(tree)) is None:
        raise TypeError(
            f"{verb} takes an object, a variable or a container with these, got a bare "
            f"{type(tree).__name__}"
        )
    matches = predicate(only)
    has_match = only is ...
    fresh: T = copy_graph(tree)
    flat = flatten_graph(fresh)
    for value, path, kind in zip(
        flat.leaves, flat.paths, kinds_of(flat.structure), strict=True
    ):
        if not isinstance(value, Variable):
            continue
        if kind not in _PARAMETERS and kind_in(Kind.DATA, value) not in _PARAMETERS:
            continue
        if judge(matches, path, value, kind):
            has_match = True
            if new_kind is Kind.FROZEN:
                value.set_metadata(FROZEN, True)
            elif value.has_metadata(FROZEN):
                value.del_metadata(FROZEN)
    for obj, path in zip(flat.tracked, flat.first, strict=True):
        if not isinstance(obj, Pytree):
            continue
        for name, value in vars(obj).items():
            kind = kinds_in(obj).get(name) or Kind.STATIC
            if kind not in _PARAMETERS or isinstance(value, Variable):
                continue
            if judge(matches, (*path, part_of(name)), value, kind):
                has_match = True
                set_kind(obj, name, new_kind)
    if not has_match:
        raise ValueError(f"{safe_repr(matches)} matches no parameter to {verb}")
    return fresh


_PARAMETERS: Final = (Kind.PARAMETER, Kind.FROZEN)
