"""`Rngs`: named streams of random numbers, whose counts are state of a model.

Owns the streams, how the next key of one is made from its key and its count, and what
may be drawn by the name of a distribution. Over a key of jax that is jax's business:
the numbers are those of Flax NNX. Over a key of NumPy, four words of a seed, it is a
generator that is given out. Neither is imported where nobody asks for a stream.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from ..kinds import Kind
from ..lazy import real
from ..safely import described, type_name
from .filters import Filter, predicate
from .pytree import Pytree
from .variables import Variable


__all__ = ["RngCount", "RngKey", "RngState", "RngStream", "Rngs"]

Shape: TypeAlias = int | tuple[int, ...]
Shapes: TypeAlias = Shape | Mapping[Any, Shape | None] | None

_WORDS: Final = 4


class RngState(Variable[Any]):
    """Base class of the variables in a stream: its key and its count.

    Example:
        >>> from leafwise import nn
        >>> issubclass(nn.RngKey, nn.RngState), issubclass(nn.RngCount, nn.RngState)
        (True, True)
    """

    _leafwise_kind: ClassVar[Kind] = Kind.STATE

    @property
    def tag(self) -> str | None:  # type: ignore[override]  # of one, not of the type
        """The name of the stream."""
        tag: str | None = self.get_metadata("tag", None)
        return tag


class RngKey(RngState):
    """The key of a stream, which does not change.

    Example:
        >>> import pytest
        >>> numpy = pytest.importorskip("numpy")
        >>> from leafwise import nn
        >>> rngs = nn.Rngs(numpy.random.SeedSequence(0))
        >>> [*nn.to_flat_state(nn.state(rngs, nn.RngKey)).paths]
        [('default', 'key')]
    """


class RngCount(RngState):
    """The number of keys taken from a stream.

    Example:
        >>> import pytest
        >>> numpy = pytest.importorskip("numpy")
        >>> from leafwise import nn
        >>> rngs = nn.Rngs(numpy.random.SeedSequence(0))
        >>> _ = rngs(), rngs()
        >>> int(rngs.default.count)
        2
    """


# ------------------------------------------------------------------ keys of libraries


class _OverJax:
    """What is done with keys of jax."""

    def __init__(self, jax: Any) -> None:
        self.random = importlib.import_module("jax.random")
        self.numpy = importlib.import_module("jax.numpy")
        self.dtypes = jax.dtypes

    def key_of(self, given: Any) -> Any:
        """Return a key for a seed, or for the words of a key."""
        if isinstance(given, int):
            return self.random.key(given)
        if given.dtype == self.numpy.uint32:
            given = self.random.wrap_key_data(given)
        if not self.numpy.issubdtype(given.dtype, self.dtypes.prng_key):
            raise _no_seed(given)
        return given

    def zeros(self, key: Any) -> Any:
        return self.numpy.zeros(key.shape, dtype=self.numpy.uint32)

    def next_key(self, key: Any, count: Any) -> Any:
        if key.dtype == self.numpy.uint32:
            raise TypeError(
                "a NumPy stream was passed to a function that jax traces; create the "
                "stream from a jax key"
            )
        return self.random.fold_in(key, count)

    def as_given(self, key: Any) -> Any:
        """Return what the caller of a stream gets."""
        return key

    def split(self, key: Any, shape: Shape) -> Any:
        return self.random.split(key, shape)

    def broadcast(self, key: Any, shape: tuple[int, ...]) -> Any:
        return self.numpy.broadcast_to(key, shape + key.shape)

    def draw(self, stream: RngStream, name: str) -> Any:
        """Return the function for a distribution, or the maker of an initializer."""
        function = getattr(self.random, name, None)
        if function is not None:

            @functools.wraps(function)
            def drawn(*args: Any, **kwargs: Any) -> Any:
                return function(stream(), *args, **kwargs)

            return drawn
        return functools.partial(self._initializer, stream, name)

    def _initializer(self, stream: RngStream, name: str, *args: Any, **kw: Any) -> Any:
        initializers = importlib.import_module("jax.nn.initializers")
        initialize = getattr(initializers, name)(*args, **kw)
        return lambda *args, **kwargs: initialize(stream(), *args, **kwargs)


class _OverNumpy:
    """What is done with keys of NumPy: arrays of words, in their last axis."""

    def __init__(self, numpy: Any) -> None:
        self.numpy = numpy

    def key_of(self, given: Any) -> Any:
        """Return a key for a seed, a sequence of seeds, a generator, or a key."""
        random, words = self.numpy.random, self.numpy.uint32
        if isinstance(given, random.Generator):
            return given.integers(0, 2**32, _WORDS, dtype=words)
        if isinstance(given, int):
            given = random.SeedSequence(operator.index(given))
        if isinstance(given, random.SeedSequence):
            return given.generate_state(_WORDS)
        if given.dtype != words or not given.ndim or given.shape[-1] != _WORDS:
            raise _no_seed(given)
        return given

    def zeros(self, key: Any) -> Any:
        return self.numpy.zeros(key.shape[:-1], dtype=self.numpy.uint32)

    def next_key(self, key: Any, count: Any) -> Any:
        if key.ndim != 1:
            raise ValueError(
                f"a stream that was split into {key.shape[:-1]} has a key for each "
                "part, and cannot be called as a whole"
            )
        sequence = self.numpy.random.SeedSequence(
            [*map(int, key)], spawn_key=(int(count),)
        )
        return sequence.generate_state(_WORDS)

    def as_given(self, key: Any) -> Any:
        """Return what the caller of a stream gets: a generator."""
        return self.numpy.random.default_rng([*map(int, key)])

    def split(self, key: Any, shape: Shape) -> Any:
        shape = (shape,) if isinstance(shape, int) else shape
        sequence = self.numpy.random.SeedSequence([*map(int, key)])
        count = int(self.numpy.prod(shape, dtype=int))
        keys = [one.generate_state(_WORDS) for one in sequence.spawn(count)]
        return self.numpy.reshape(self.numpy.array(keys, "uint32"), (*shape, _WORDS))

    def broadcast(self, key: Any, shape: tuple[int, ...]) -> Any:
        return self.numpy.broadcast_to(key, shape + key.shape).copy()

    def draw(self, stream: RngStream, name: str) -> Any:
        """Return the function for a distribution, with the arguments of jax's."""
        function = _DRAWN.get(name)
        if function is None:
            raise AttributeError(
                f"a NumPy stream has no method {name!r}; use its generators: "
                f"rngs.{stream.tag}()",
                name=name,
                obj=stream,
            )

        def drawn(*args: Any, **kwargs: Any) -> Any:
            return function(stream(), *args, **kwargs)

        return drawn


def _like(values: Any, dtype: Any) -> Any:
    return values if dtype is None else values.astype(dtype)


_Shape = tuple[int, ...]
_DRAWN: Final[dict[str, Callable[..., Any]]] = {
    "bernoulli": lambda g, p=0.5, shape=None: (
        g.random(getattr(p, "shape", ()) if shape is None else shape) < p
    ),
    "choice": lambda g, a, shape=(), replace=True, p=None, axis=0: g.choice(
        a, shape, replace, p, axis
    ),
    "exponential": lambda g, shape=(), dtype=None: _like(
        g.exponential(size=shape), dtype
    ),
    "gumbel": lambda g, shape=(), dtype=None: _like(g.gumbel(size=shape), dtype),
    "laplace": lambda g, shape=(), dtype=None: _like(g.laplace(size=shape), dtype),
    "logistic": lambda g, shape=(), dtype=None: _like(g.logistic(size=shape), dtype),
    "normal": lambda g, shape=(), dtype=None: _like(g.normal(size=shape), dtype),
    "permutation": lambda g, x, axis=0, independent=False: (
        g.permuted(x, axis=axis) if independent else g.permutation(x, axis=axis)
    ),
    "poisson": lambda g, lam, shape=None, dtype=None: _like(
        g.poisson(lam, shape), dtype
    ),
    "randint": lambda g, shape, minval, maxval, dtype=int: g.integers(
        minval, maxval, shape, dtype
    ),
    "uniform": lambda g, shape=(), dtype=None, minval=0.0, maxval=1.0: _like(
        g.uniform(minval, maxval, shape), dtype
    ),
}
"""What streams over NumPy draw: functions of a generator and the arguments of jax's."""

_NAMES: Final = """
    ball bernoulli beta binomial bits categorical cauchy chisquare choice
    delta_orthogonal dirichlet double_sided_maxwell exponential f gamma
    generalized_normal geometric glorot_normal glorot_uniform gumbel he_normal
    he_uniform kaiming_normal kaiming_uniform laplace lecun_normal lecun_uniform
    loggamma logistic lognormal maxwell multinomial multivariate_normal normal
    orthogonal pareto permutation poisson rademacher randint rayleigh t
    triangular truncated_normal uniform variance_scaling wald weibull_min
    xavier_normal xavier_uniform
"""
_DRAWS: Final = frozenset(_NAMES.split())
"""What may be drawn by its name: the functions of `jax.random`, and initializers."""


def _library_of(key: Any) -> Any:
    """Return what works with a key, or with what a key can be made of."""
    numpy, jax = real("numpy"), real("jax")
    if numpy is not None:
        random = numpy.random
        if isinstance(key, numpy.ndarray | random.Generator | random.SeedSequence):
            return _OverNumpy(numpy)
    if jax is not None and isinstance(key, int | jax.Array):
        return _OverJax(jax)
    if isinstance(key, int):
        return _OverNumpy(importlib.import_module("numpy"))
    raise _no_seed(key)


def _no_seed(given: Any) -> ValueError:
    return ValueError(
        "a stream is created from an int, a jax key, a SeedSequence or a NumPy "
        f"Generator, got {described(given)}"
    )


# ------------------------------------------------------------------------- streams


if TYPE_CHECKING:

    def _draw(*args: Any, **kwargs: Any) -> Any: ...

    class _Drawing(Pytree):
        """The names of `_DRAWS`, for type checkers."""

        ball = bernoulli = beta = binomial = bits = categorical = cauchy = _draw
        chisquare = choice = delta_orthogonal = dirichlet = double_sided_maxwell = _draw
        exponential = f = gamma = generalized_normal = geometric = glorot_normal = _draw
        glorot_uniform = gumbel = he_normal = he_uniform = kaiming_normal = _draw
        kaiming_uniform = laplace = lecun_normal = lecun_uniform = loggamma = _draw
        logistic = lognormal = maxwell = multinomial = multivariate_normal = _draw
        normal = orthogonal = pareto = permutation = poisson = rademacher = _draw
        randint = rayleigh = t = triangular = truncated_normal = uniform = _draw
        variance_scaling = wald = weibull_min = xavier_normal = xavier_uniform = _draw

else:
    _Drawing = Pytree


class RngStream(_Drawing):
    """A stream of random keys, with a count of the keys taken.

    Calling a stream returns the next key: a key of jax, or a NumPy generator. Methods
    named like the functions of `jax.random` draw numbers, without the key argument:
    `stream.normal((2, 3))`. With NumPy, these are `bernoulli choice exponential gumbel
    laplace logistic normal permutation poisson randint uniform`, with the arguments
    that they have in jax.

    Args:
        key: An int, a key of jax, or a NumPy `SeedSequence` or `Generator`. An int
            becomes a key of jax if jax is imported.
        tag: The name of the stream, which is also its tag for filters.

    Raises:
        ValueError: The key is not one of these.

    Example:
        >>> import pytest
        >>> numpy = pytest.importorskip("numpy")
        >>> from leafwise import nn
        >>> stream = nn.RngStream(numpy.random.SeedSequence(0), tag="noise")
        >>> again = nn.clone(stream)
        >>> bool((stream.normal((2,)) == again.normal((2,))).all())
        True

    Modelled on `flax.nnx.RngStream`.
    """

    def __init__(self, key: Any, *, tag: str) -> None:
        library = _library_of(key)
        key = library.key_of(key)
        self.tag = tag
        self.key: RngKey = RngKey(key, tag=tag)
        self.count: RngCount = RngCount(library.zeros(key), tag=tag)

    def __call__(self) -> Any:
        """Return the next key, or generator."""
        library, key = self._next()
        return library.as_given(key)

    def _next(self) -> tuple[Any, Any]:
        key, count = self.key.get_value(), self.count.get_value()
        library = _library_of(key)
        made = library.next_key(key, count)
        self.count.set_value(count + 1)
        return library, made

    def _made(self, key: Any) -> RngStream:
        return type(self)(key, tag=self.tag)

    def split(self, k: Shape) -> RngStream:
        """Return a stream with one key for each part, derived from the next key.

        Args:
            k: The number of parts, or a shape for parts along several axes.
        """
        library, key = self._next()
        return self._made(library.split(key, k))

    def fork(self, *, split: Shape | None = None) -> RngStream:
        """Return a stream that starts with the next key.

        Args:
            split: The number of parts, or their shape; without it the stream has one
                key and no axes.
        """
        if split is not None:
            return self.split(split)
        return self._made(self._next()[1])

    def broadcast(self, k: Shape) -> RngStream:
        """Return a stream with a copy of the next key in each part.

        Args:
            k: The number of parts, or a shape for parts along several axes.
        """
        library, key = self._next()
        return self._made(library.broadcast(key, (k,) if isinstance(k, int) else k))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what draws numbers of a distribution."""
            if name not in _DRAWS:
                raise AttributeError(
                    f"{type_name(self)} has no attribute {name!r}", name=name, obj=self
                )
            return _library_of(self.key.get_value()).draw(self, name)


class Rngs(_Drawing):
    """Named streams of random keys: `rngs.params()`, `rngs.dropout()`, `rngs()`.

    Calling a stream returns its next key. A name without a stream refers to the
    `default` stream, and so does calling `rngs` itself. Keys and counts are variables,
    so `split`, `merge`, `jit` and the other transforms handle them. `Rngs` has the
    methods of a stream that draw numbers, such as `rngs.normal((2, 3))`, and uses the
    default stream for them.

    Args:
        default: The seed of the default stream; see `RngStream`. A mapping contains
            seeds by name.
        **streams: The seeds of further streams. For another stream, its key is used.

    Raises:
        AttributeError: There is neither a stream with the name nor a default stream.
        ValueError: A value is not a seed.

    Example:
        >>> import pytest
        >>> numpy = pytest.importorskip("numpy")
        >>> from leafwise import nn
        >>> seeds = numpy.random.SeedSequence(0).spawn(2)
        >>> rngs = nn.Rngs(seeds[0], params=seeds[1])
        >>> rngs.params() is rngs.params(), rngs.dropout is rngs.default
        (False, True)
        >>> graphdef, state = nn.split(rngs)
        >>> again = nn.merge(graphdef, state, copy=True)
        >>> bool(again.uniform() == rngs.uniform())
        True

    Modelled on `flax.nnx.Rngs`; with jax, the numbers are the same.
    """

    def __init__(self, default: Any = None, **streams: Any) -> None:
        if isinstance(default, Mapping):
            streams = {**default, **streams}
        elif default is not None:
            streams["default"] = default
        made = {}
        for name, seed in streams.items():
            key = seed.key.get_value() if isinstance(seed, RngStream) else seed
            made[name] = RngStream(key, tag=name)
        for name, stream in made.items():
            setattr(self, name, stream)

    def __call__(self) -> Any:
        """Return the next key of the default stream."""
        return self._stream("default", AttributeError)()

    def __getattr__(self, name: str) -> RngStream:
        """Return what draws numbers, or the default stream."""
        if name.startswith("_"):
            raise AttributeError(
                f"{type_name(self)} has no attribute {name!r}", name=name, obj=self
            )
        if name in _DRAWS:
            draw: Any = getattr(self._stream("default", AttributeError), name)
            return draw  # type: ignore[no-any-return]  # of a name that `_Drawing` has
        return self._stream(name, AttributeError)

    def __getitem__(self, name: str) -> RngStream:
        """Return a stream, or the default one."""
        return self._stream(name, KeyError)

    def _stream(self, name: str, error: type[Exception]) -> RngStream:
        held = vars(self)
        found = held.get(name, held.get("default"))
        if not isinstance(found, RngStream):
            known = ", ".join(map(repr, self)) or "none"
            raise error(
                f"No RngStream named {name!r} found in Rngs; there are: {known}"
            )
        return found

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the streams."""
        return (name for name, _ in self.items())

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def __contains__(self, name: object) -> bool:
        return name in vars(self)

    def items(self) -> Iterator[tuple[str, RngStream]]:
        """Yield the streams with their names."""
        for name, value in vars(self).items():
            if isinstance(value, RngStream):
                yield name, value

    def split(self, k: Shapes) -> Rngs:
        """Return new streams with one key for each part, derived from the next keys.

        Args:
            k: The number of parts, or a shape for parts along several axes. In a
                mapping from filters to these, the first filter that matches a stream
                applies. With None, and for a stream that no filter matches, the stream
                is not split: it starts from the beginning.

        Example:
            >>> import pytest
            >>> numpy = pytest.importorskip("numpy")
            >>> from leafwise import nn
            >>> rngs = nn.Rngs(numpy.random.SeedSequence(0), noise=1)
            >>> {name: len(s.key) for name, s in rngs.split({"noise": 7}).items()}
            {'noise': 7, 'default': 4}
        """
        return self._each(k, RngStream.split, lambda stream: stream)

    def fork(self, *, split: Shapes = None) -> Rngs:
        """Return new streams that start with the next keys.

        Args:
            split: The streams to split and their number of parts, as for `split`.
        """
        return self._each(split, RngStream.split, RngStream.fork)

    def broadcast(self, k: Shapes) -> Rngs:
        """Return new streams with a copy of the next key in each part.

        Args:
            k: The number of parts, as for `split`.
        """
        return self._each(k, RngStream.broadcast, lambda stream: stream)

    def _each(
        self,
        shapes: Shapes,
        change: Callable[[RngStream, Shape], RngStream],
        otherwise: Callable[[RngStream], RngStream],
    ) -> Rngs:
        """Return streams that are made of these, by the first filter that means one."""
        by_filter: Mapping[Filter, Shape | None]
        by_filter = shapes if isinstance(shapes, Mapping) else {...: shapes}
        cases = [(predicate(only), shape) for only, shape in by_filter.items()]
        made = {}
        for name, stream in self.items():
            shape = next((k for meant, k in cases if meant((), stream)), None)
            made[name] = otherwise(stream) if shape is None else change(stream, shape)
        return Rngs(made)
