"""The registry: which node type belongs to which class, in which namespace.

Walks look types up in a `View` of it. The state is an immutable snapshot that is
replaced as a whole (law L10): a walk that has begun keeps its view, and a registration
that fails changes nothing. A lock makes changes one after another; one that a finalizer
makes in the middle of another one is made first. Dispatch is on the exact type (law
L1): namespace, global registry, classes registered with `inherit=True`, form, else
leaf.
"""

from __future__ import annotations

import builtins
import itertools
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from .._hooks import hooks
from .._records import MISSING
from .._runtime import Guard, add_class, is_permanent, named_object
from .._text import safe_repr, short_repr, typed_repr
from ..errors import NamespaceError, RegistryError
from .builtins import BUILTINS, INSERTION_ORDERED, structural_node_type
from .node import NodeType


# -------------------------------------------------------------------------------- views


C = TypeVar("C", bound=type)
DictOrder = Literal["sorted", "insertion"]
GLOBAL: Final = ""
_MAX_SEEN = 4096
_MAX_NARROWED = 64
_MAX_LOCAL = 64


class Mode(NamedTuple):
    """Where a treedef was made: its namespace, and whether None was a leaf there."""

    namespace: str
    none_is_leaf: bool


_guard: Final = Guard()

Dispatch: TypeAlias = "Callable[[type], NodeType | None]"
"""Takes a type, returns its node type, the same one each time, or None for a leaf."""


def remembering(find: Dispatch) -> Dispatch:
    """Return a function that gives one node type for a class as long as it is in use.

    Treedefs tell node types apart by identity, so two threads have to use the same one.

    Args:
        find: Takes a type, makes its node type.
    """
    node_types: WeakValueDictionary[type, NodeType] = WeakValueDictionary()

    def dispatch(cls: type) -> NodeType | None:
        node_type = node_types.get(cls) or find(cls)
        if node_type is None:
            return None
        with _guard.lock:  # the table looks and writes in two steps
            return node_types.setdefault(cls, node_type)

    return dispatch


class Layer(NamedTuple):
    """The registrations of one namespace; a node type of None makes a type a leaf.

    Adopters are asked for the node type of a class that has none yet. Instances of the
    classes in `leaves` are leaves, whatever else they are registered as. With
    `none_is_leaf`, None is a leaf in each call. With a `dispatch` the namespace stands
    alone: types that are not registered in it have the node type that the dispatch
    returns.
    """

    node_types: Mapping[type, NodeType | None] = MappingProxyType({})
    inherited: frozenset[type] = frozenset()
    dict_order: DictOrder = "sorted"
    adopters: tuple[Dispatch, ...] = ()
    leaves: tuple[type, ...] = ()
    none_is_leaf: bool = False
    dispatch: Dispatch | None = None


EMPTY: Final = Layer()


class View:
    """One namespace as a walk sees it: the node types of classes, and which are leaves.

    It is built from one snapshot of the registry, and answers for that snapshot only.
    It caches what it learns about further types, up to a bound.

    Attributes:
        mode: Namespace and None mode, for the treedefs made under this view.
        node_types: The node types of the types of nodes that occurred so far.
        leaf_types: The types of leaves that occurred so far.
        context: The context without a predicate under this view, once it is made.
        read_node: Reads nodes by recursion under this view; made by `walk`.
        map_node: Maps nodes by recursion under this view; made by `walk`.
        map_lower_node: The same for nodes below the first levels.
        leaf_treedef: The treedef of a bare leaf, once one was made.
        hot: For types of roots that occur often, a function that flattens a tree faster
            than the walk, or returns None to leave it to the walk.
        asked: The same for calls with a predicate: a function of a tree and of what
            to ask. It leaves to the walk what it has not asked about only.
    """

    def __init__(
        self, mode: Mode, layers: tuple[Layer, ...], stops: tuple[type, ...] = ()
    ) -> None:
        self._fixed = _node_types_of_builtins(mode, layers[0], stops)
        self._layers = layers
        self._stops = stops
        self._narrowed: dict[Any, View] = {}
        self.mode = mode
        self.node_types: dict[type, NodeType] = dict(self._fixed)
        self.leaf_types: set[type] = set()
        self.context: Any = None
        self.read_node: Any = None
        self.map_node: Any = None
        self.map_lower_node: Any = None
        self.leaf_treedef: Any = None
        self.hot: dict[type, Callable[[Any], tuple[list[Any], Any] | None]] = {}
        self.asked: dict[type, Callable[[Any, Any], tuple[list[Any], Any] | None]] = {}

    def __call__(self, node: Any) -> bool:
        """Return whether this view stops at a value because of its class."""
        return issubclass(type(node), self._stops)

    def narrowed(
        self, stops: tuple[type, ...], dict_order: DictOrder | None = None
    ) -> View:
        """Return a view in which values of these classes are leaves as well.

        It is a predicate as well: a walk under it asks nothing, and a walk under
        another view may call it with each node. What is a leaf in this view stays one.

        Args:
            stops: The classes.
            dict_order: The order in which it walks dicts, by default that of this view.
        """
        view = self._narrowed.get((stops, dict_order))
        if view is None:
            if len(self._narrowed) >= _MAX_NARROWED:
                self._narrowed.clear()  # views in use live on in the walks under them
            layers = self._layers
            if dict_order is not None:
                layers = (layers[0]._replace(dict_order=dict_order), *layers[1:])
            view = View(self.mode, layers, self._stops + stops)
            # of two threads at once, both get the view of the first
            view = self._narrowed.setdefault((stops, dict_order), view)
        return view

    def adopting(self, adopter: Dispatch) -> View:
        """Return a view in which types that are leaves here may have a node type.

        Args:
            adopter: What is asked for the node type of such a type, see `remembering`.
        """
        view = self._narrowed.get(adopter)
        if view is None:
            *layers, last = self._layers
            last = last._replace(adopters=(*last.adopters, adopter))
            view = View(self.mode, (*layers, last), self._stops)
            view = self._narrowed.setdefault(adopter, view)
        return view

    def resolve(self, cls: type) -> NodeType | None:
        """Return the node type of a class, None for a leaf, and remember the answer."""
        node_type = self.node_types.get(cls)
        if node_type is not None or cls in self.leaf_types:
            return node_type
        if len(self.node_types) + len(self.leaf_types) > _MAX_SEEN:
            self.forget()
        node_type = self.find(cls)
        if node_type is None:
            add_class(self.leaf_types, cls)
        else:
            # A node type refers to its class, so a weak reference would not let it go:
            # such classes are counted, and all forgotten at the bound.
            if self.registered(cls) is None and not is_permanent(cls):
                current.local += 1
                if current.local > _MAX_LOCAL:
                    forget()
            self.node_types[cls] = node_type
        return node_type

    def forget(self) -> None:
        """Forget all types that were learned; walks in progress learn theirs again."""
        self.leaf_types.clear()
        for cls in list(self.node_types):
            if cls not in self._fixed:
                self.node_types.pop(cls, None)  # another thread may be faster
        self._narrowed.clear()

    def find(self, cls: type) -> NodeType | None:
        """Return the node type of a class, None for a leaf."""
        if self._stops and issubclass(cls, self._stops):
            return None
        registered: Any = self.registered(cls, MISSING)
        if registered is not MISSING:
            return registered  # type: ignore[no-any-return]  # a node type, or None
        if cls in BUILTINS:
            return self._fixed.get(cls)
        dispatch = self._layers[0].dispatch
        if dispatch is not None:
            return dispatch(cls)
        # The nearest base counts more than the namespace: a registration in the global
        # registry of a class below goes before one of the namespace above.
        for base in cls.__mro__[1:]:
            for layer in self._layers:
                if base in layer.inherited:
                    above = layer.node_types[base]
                    adapt = None if above is None else above.adapt
                    return None if adapt is None else adapt(cls)
        adopters = [adopter for layer in self._layers for adopter in layer.adopters]
        finders = (structural_node_type, *adopters)
        return next(filter(None, (find(cls) for find in finders)), None)

    def known_elsewhere(self, cls: type) -> NodeType | None:
        """Return the node type of a class; a `dispatch` counts in its own namespace."""
        is_alone = self._layers[0].dispatch is not None
        return self.registered(cls) if is_alone else self.resolve(cls)

    def registered(self, cls: type, default: Any = None) -> Any:
        """Return the node type that a type itself was registered with, None for a leaf.

        Args:
            cls: The type.
            default: What to return if it was not registered.
        """
        for layer in self._layers:
            if cls in layer.node_types:
                return layer.node_types[cls]
        return default


def _node_types_of_builtins(
    mode: Mode, layer: Layer, stops: tuple[type, ...]
) -> dict[type, NodeType]:
    """Return the node types of those built-in types that are nodes under a view."""
    node_types = dict(BUILTINS)
    if layer.dict_order == "insertion":
        node_types |= INSERTION_ORDERED
    if layer.dispatch is not None:
        answers = {cls: layer.dispatch(cls) for cls in BUILTINS}
        node_types = {
            cls: node_type
            for cls, node_type in answers.items()
            if node_type is not None
        }
    elif mode.none_is_leaf:  # a dispatch says itself what None is
        del node_types[type(None)]
    return {
        cls: node_type
        for cls, node_type in node_types.items()
        if not issubclass(cls, stops)
    }


# ------------------------------------------------------------------- the state


_serials: Final = itertools.count()


class _State:
    """One snapshot: the layers, and the views made of them so far.

    Attributes:
        serial: A number that no other snapshot has. Who has to notice a change keeps
            it, and not the snapshot, which holds classes.
        layers: The registrations, by namespace.
        views: The views so far, by the namespace and the argument
            `none_is_leaf` of a call. Where None is a leaf by declaration, both values
            of the argument lead to one view.
    """

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        self.serial = next(_serials)
        self.layers = layers
        modes = Mode(GLOBAL, False), Mode(GLOBAL, True)
        self.views: dict[tuple[str, bool], View] = {}
        self.views.update((mode, View(mode, (layers[GLOBAL],))) for mode in modes)


class _Current:
    """The snapshot that holds now, the only one that anything keeps.

    Attributes:
        state: The snapshot.
        view: Its view of the global registry with None as a node, in one step.
        local: How many classes were learned since the last `forget` that were neither
            registered nor stand in a module.
    """

    def __init__(self) -> None:
        self.state = _State({GLOBAL: EMPTY})
        self.view = self.state.views[GLOBAL, False]
        self.local = 0


current: Final = _Current()


def view_of(namespace: str = GLOBAL, none_is_leaf: bool = False) -> View:
    """Return the view of a namespace in one of the two None modes.

    Args:
        namespace: The namespace.
        none_is_leaf: Whether None is a leaf. False, the default of every function,
            leaves it to the namespace, so it cannot undo what that declares.

    Raises:
        NamespaceError: Nobody declared the namespace or registered in it.
    """
    view = current.state.views.get((namespace, none_is_leaf))
    return _make_view(namespace, none_is_leaf) if view is None else view


def _make_view(namespace: str, none_is_leaf: bool) -> View:
    state = current.state
    layer = state.layers.get(namespace) if isinstance(namespace, str) else None
    if layer is not None:
        mode = Mode(namespace, bool(none_is_leaf) or layer.none_is_leaf)
        is_alone = not namespace or layer.dispatch is not None
        # the order in which they are asked
        layers = (layer,) if is_alone else (layer, state.layers[GLOBAL])
        view = state.views.setdefault(mode, View(mode, layers, layer.leaves))
        return state.views.setdefault((namespace, bool(none_is_leaf)), view)
    if not isinstance(namespace, str):
        raise NamespaceError(f"a namespace is a string, got {typed_repr(namespace)}")
    names = [safe_repr(name) for name in state.layers if name]
    del state  # or who keeps the traceback keeps the registrations
    raise NamespaceError(
        f"no namespace {safe_repr(namespace)} was declared; register a class in it or "
        "call "
        f"leafwise.namespace({safe_repr(namespace)}) first"
        + (f" (declared: {', '.join(names[:5])})" if names else "")
    )


def namespaces() -> tuple[str, ...]:
    """Return the names of all declared namespaces, the global `""` first.

    Example:
        >>> import leafwise as lw
        >>> lw.registry.namespaces()[0]
        ''
    """
    return tuple(current.state.layers)


def _change(namespace: str, make: Callable[[Layer | None], Layer | None]) -> None:
    """Put a new layer in place of a namespace's.

    Args:
        namespace: The namespace.
        make: Takes its layer, None if there is none; returns the new one, or None to
            leave it. It is called again if a finalizer changes the registry meanwhile.
    """
    with _guard.lock:
        while True:
            state = current.state
            layer = make(state.layers.get(namespace))
            if layer is None:
                return
            new_state = _State({**state.layers, namespace: layer})
            # The lock is reentrant: a finalizer that ran meanwhile in this thread may
            # have changed the registry.
            if state is current.state:
                break
        current.state = new_state
        current.view = new_state.views[GLOBAL, False]
    for tell in hooks.registry_changed:  # without the lock: they have their own
        tell()


def forget() -> None:
    """Forget all types that were learned, so that classes nobody uses can go.

    A class of nodes that was neither registered nor stands in a module, as one that a
    function makes, is kept until 64 further ones have occurred, under any view.
    """
    current.local = 0
    for view in [*current.state.views.values()]:  # others may add a view meanwhile
        view.forget()
    for tell in hooks.types_forgotten:
        tell()


def declare_namespace(
    name: str,
    dict_order: DictOrder | None = None,
    leaves: tuple[type, ...] | None = None,
    none_is_leaf: bool | None = None,
    dispatch: Dispatch | None = None,
) -> None:
    """Declare a namespace and its policy; declaring it again is harmless.

    Args:
        name: The namespace.
        dict_order: `"sorted"` or `"insertion"`; None leaves it as it is.
        leaves: Classes whose instances, also those of subclasses, are leaves there;
            None leaves it as it is.
        none_is_leaf: Whether None is a leaf there in each call; None leaves it as it
            is.
        dispatch: Says of each type that is not registered in the namespace, built-in
            ones too, by which node type it is walked; neither the global registry nor
            `none_is_leaf` counts then. None leaves it as it is.

    Raises:
        RegistryError: The policy is unknown, or differs from the declared one.
    """
    check_namespace(name)
    if dict_order not in (None, "sorted", "insertion"):
        raise RegistryError(
            f"dict_order must be 'sorted' or 'insertion', got {short_repr(dict_order)}"
        )
    if leaves is not None and not (
        type(leaves) is tuple and all(isinstance(cls, type) for cls in leaves)
    ):
        raise RegistryError(
            f"leaves must be a tuple of classes, got {short_repr(leaves)}"
        )
    if none_is_leaf is not None and type(none_is_leaf) is not bool:
        raise RegistryError(
            f"none_is_leaf must be a bool, got {short_repr(none_is_leaf)}"
        )
    options = {
        "dict_order": dict_order,
        "leaves": leaves,
        "none_is_leaf": none_is_leaf,
        "dispatch": dispatch,
    }
    policy: Any = {name: value for name, value in options.items() if value is not None}

    def declare(layer: Layer | None) -> Layer | None:
        if layer is None:
            return EMPTY._replace(**policy)
        for what, new in policy.items():
            old = getattr(layer, what)
            if new != old:
                raise RegistryError(
                    f"namespace {safe_repr(name)} has {what}={short_repr(old)} "
                    "already; it "
                    f"cannot become {short_repr(new)}, choose another name"
                )
        return None

    _change(name, declare)


def check_namespace(name: object) -> None:
    """Raise an error for an invalid namespace name.

    Raises:
        RegistryError: The name is not a string.
    """
    if not isinstance(name, str):
        raise RegistryError(f"a namespace is a string, got {typed_repr(name)}")


# ---------------------------------------------------------------- registration


def caller() -> tuple[str, int]:
    """Return the file and the line of the nearest frame outside leafwise."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] != package:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def check_class(cls: object) -> None:
    """Raise an error for a class that cannot be registered.

    Raises:
        RegistryError: Not a class, or a built-in node type.
    """
    if not isinstance(cls, type):
        raise RegistryError(f"only a class can be registered, got {typed_repr(cls)}")
    if cls in BUILTINS:
        raise RegistryError(
            f"{cls.__qualname__} is a built-in node type and cannot be registered; "
            "register a subclass of it instead"
        )


def is_built_in_leaf(cls: type) -> bool:
    """Return whether a class is one of Python's own, whose instances are leaves.

    Example:
        >>> from leafwise.core.registry import is_built_in_leaf
        >>> is_built_in_leaf(int), is_built_in_leaf(list), is_built_in_leaf(Exception)
        (True, False, True)
    """
    is_built_in = getattr(builtins, cls.__name__, None) is cls
    return is_built_in and cls not in BUILTINS


def check_callable(function: object, what: str, cls: type) -> None:
    """Raise an error for an object that is not callable.

    Raises:
        RegistryError: It cannot be called.
    """
    if not callable(function):
        raise RegistryError(
            f"{what} of {cls.__qualname__} must be callable, got {typed_repr(function)}"
        )


def install(
    cls: C,
    make: Callable[..., NodeType | None],
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
    where: str = "",
) -> C:
    """Register a class: build its node type, check for a duplicate, swap the snapshot.

    Args:
        cls: The class.
        make: Takes the class or a subclass that follows, and as keywords what a node
            type knows of its registration: `namespace`, `where`, `adapt`. Returns the
            node type, or None to make the class a leaf.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a node type of their own follow.
        exist_ok: Whether to replace a registration of this class, or of the
            class that had its qualified name before; and whether a built-in type may
            become a node everywhere.
        bridge: Whether other frameworks are to know the class.
        where: What node types say about the place of registration, if not that of the
            call.

    Returns:
        The class.

    Raises:
        RegistryError: A duplicate, a built-in type, or something that cannot be
            registered.
    """
    check_class(cls)
    check_namespace(namespace)
    if not where:
        file, line = caller()
        where = f"{file}:{line}"

    def node_type_of(cls: type) -> NodeType | None:
        return make(cls, namespace=namespace, where=where, adapt=adapt)

    adapt = remembering(node_type_of)
    node_type = node_type_of(cls)
    if (
        node_type is not None
        and namespace == GLOBAL
        and not exist_ok
        and is_built_in_leaf(cls)
    ):
        raise RegistryError(
            f"{cls.__qualname__} is a built-in type: as a node of the global registry "
            "it would change each tree in this process; register it in a namespace, "
            "namespace='...', or a subclass of it (exist_ok=True registers it all the "
            "same)"
        )

    def add(layer: Layer | None) -> Layer:
        layer = layer or EMPTY
        node_types = dict(layer.node_types)
        if cls in node_types and not exist_ok:
            old_node_type = node_types[cls]
            origin = (
                " as a leaf" if old_node_type is None else f" at {old_node_type.where}"
            )
            raise RegistryError(
                f"{cls.__qualname__} is registered in {_scope(namespace)} already"
                f"{origin}; pass exist_ok=True to replace that registration"
            )
        if exist_ok:
            # a cell that is run again defines another class of that name
            for old in [old for old in node_types if _is_reload(old, cls)]:
                del node_types[old]
        node_types[cls] = node_type
        inherited = (layer.inherited - {cls}) & node_types.keys()
        if inherit:
            inherited |= {cls}
        return layer._replace(node_types=node_types, inherited=inherited)

    _change(namespace, add)
    if bridge and namespace == GLOBAL:
        hooks.announce(cls)
    return cls


def _scope(namespace: str) -> str:
    return f"namespace {safe_repr(namespace)}" if namespace else "the global registry"


def _is_reload(old: type, new: type) -> bool:
    """Return whether a class is an earlier version of another, from the same place."""
    return (
        old is not new
        and old.__qualname__ == new.__qualname__
        and old.__module__ == new.__module__
        and "<locals>" not in new.__qualname__
    )


def add_adopter(adopter: Dispatch, *, namespace: str) -> None:
    """Add a function that finds node types of classes that are not registered.

    Args:
        adopter: What is asked, see `remembering`.
        namespace: Where it is asked; `""` is the global registry.

    Raises:
        RegistryError: The name of the namespace is not a string.
    """
    check_namespace(namespace)

    def add(layer: Layer | None) -> Layer | None:
        layer = layer or EMPTY
        if adopter in layer.adopters:
            return None
        return layer._replace(adopters=(*layer.adopters, adopter))

    _change(namespace, add)


def unregister_pytree_node(cls: type, *, namespace: str = GLOBAL) -> None:
    """Remove a registration: instances of the class are leaves from then on.

    Existing treedefs keep their node types.

    Args:
        cls: The registered class.
        namespace: Where it was registered; `""` is the global registry.

    Raises:
        RegistryError: The class is not registered there.

    Example:
        >>> import leafwise as lw
        >>> class Box:
        ...     def __init__(self, x): self.x = x
        >>> _ = lw.register_pytree_node(
        ...     Box, lambda box: ((box.x,), None), lambda aux, kids: Box(*kids))
        >>> lw.tree_leaves(Box(1))
        [1]
        >>> lw.unregister_pytree_node(Box)
        >>> lw.is_registered(Box)
        False
    """
    check_class(cls)
    check_namespace(namespace)

    def drop(layer: Layer | None) -> Layer:
        layer = layer or EMPTY
        if cls not in layer.node_types:
            scope = _scope(namespace)
            raise RegistryError(f"{cls.__qualname__} is not registered in {scope}")
        node_types = {
            key: node_type
            for key, node_type in layer.node_types.items()
            if key is not cls
        }
        return layer._replace(node_types=node_types, inherited=layer.inherited - {cls})

    _change(namespace, drop)


def lookup(cls: type, *, namespace: str = GLOBAL) -> NodeType | None:
    """Return the node type of a class, None if its instances are leaves.

    Args:
        cls: The type of the nodes.
        namespace: The namespace to search before the global registry.

    Raises:
        NamespaceError: The namespace was not declared.
        TypeError: `cls` is not a class.

    Example:
        >>> import leafwise as lw
        >>> lw.registry.lookup(dict), lw.registry.lookup(int)
        (<NodeType dict for dict>, None)
    """
    if not isinstance(cls, type):
        raise TypeError(f"lookup takes a class, got {typed_repr(cls)}")
    return view_of(namespace).resolve(cls)


def registered_class(module: str, qualname: str, namespace: str) -> type:
    """Return the class that was registered under a qualified name.

    Where several were, as when a cell of a notebook is run again, it is the one that
    the module has under that name, else the first.

    Raises:
        RegistryError: There is no such class in the namespace or the global registry.
    """
    check_namespace(namespace)
    package, _, inside = module.partition(".")
    if __name__.startswith(f"{package}."):  # our own: a lazy submodule is loaded
        getattr(sys.modules.get(package), inside.partition(".")[0], None)
    current_class = named_object(module, qualname)
    layers = [current.state.layers.get(name, EMPTY) for name in (namespace, GLOBAL)]
    classes = [cls for layer in layers for cls in layer.node_types]
    bases: Any = current_class.__mro__ if isinstance(current_class, type) else ()
    if any(layer.inherited.intersection(bases) for layer in layers):
        classes.append(current_class)
    matches = [
        cls
        for cls in classes
        if cls.__module__ == module and cls.__qualname__ == qualname
    ]
    if not matches:
        raise RegistryError(
            f"no class {safe_repr(qualname)} of module {safe_repr(module)} is "
            "registered in this process"
        )
    return current_class if current_class in matches else matches[0]


def is_registered(cls: type, *, namespace: str = GLOBAL) -> bool:
    """Return whether instances of a class are nodes.

    A class is a node type if it is built in, registered, or recognized by its form, as
    named tuples are.

    Args:
        cls: The class.
        namespace: The namespace to search before the global registry.

    Raises:
        NamespaceError: The namespace was not declared.
        TypeError: `cls` is not a class.

    Example:
        >>> import leafwise as lw
        >>> lw.is_registered(list), lw.is_registered(set)
        (True, False)
    """
    return lookup(cls, namespace=namespace) is not None
