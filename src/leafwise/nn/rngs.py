"""`Rngs`: named streams of random numbers, whose counts are state of a model.

The next key of a stream is made from its key and its count. The numbers are those of
Flax NNX. jax is imported when the first stream is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from .._lazy import need
from .._text import typed_repr
from ..fields import Kind
from .filters import Filter, Predicate, predicate
from .pytree import Pytree
from .variables import Variable


__all__ = ["RngCount", "RngKey", "RngState", "RngStream", "Rngs"]

Shape: TypeAlias = int | tuple[int, ...]
Shapes: TypeAlias = Shape | Mapping[Any, Shape | None] | None


class RngState(Variable[Any], kind=Kind.STATE):
    """Base class of the variables in a stream: its key and its count.

    Example:
        >>> from leafwise import nn
        >>> issubclass(nn.RngKey, nn.RngState), issubclass(nn.RngCount, nn.RngState)
        (True, True)
    """

    @property
    def tag(self) -> str | None:  # type: ignore[override]  # of one, not of the type
        """The name of the stream."""
        return self.get_metadata("tag", None)  # type: ignore[no-any-return]  # a tag


class RngKey(RngState):
    """The key of a stream, which does not change.

    Example:
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> rngs = nn.Rngs(0)
        >>> [*nn.to_flat_state(nn.state(rngs, nn.RngKey)).paths]
        [('default', 'key')]
    """


class RngCount(RngState):
    """The number of keys taken from a stream.

    Example:
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> rngs = nn.Rngs(0)
        >>> _ = rngs(), rngs()
        >>> int(rngs.default.count)
        2
    """


# -------------------------------------------------------------------- what jax has


def _jax() -> Any:
    return need("jax", "nn.Rngs")


def _key_of(seed: Any) -> Any:
    """Return the key for a seed, a key, or the words of a key.

    Raises:
        ValueError: It is none of these.
    """
    jax = _jax()
    if isinstance(seed, int):
        return jax.random.key(seed)
    if isinstance(seed, jax.numpy.ndarray):
        key = seed
        if key.dtype == jax.numpy.uint32:
            key = jax.random.wrap_key_data(key)
        if jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
            return key
    raise ValueError(
        f"a stream is created from an int or a jax key, got {typed_repr(seed)}"
    )


# By name, and not by `hasattr(jax.random, name)`: Flax makes methods of these alone, so
# any other name can be that of a stream.
_DISTRIBUTIONS: Final = """
    ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet
    double_sided_maxwell exponential f gamma generalized_normal geometric gumbel laplace
    loggamma logistic lognormal maxwell multinomial multivariate_normal normal
    orthogonal pareto permutation poisson rademacher randint rayleigh t triangular
    truncated_normal uniform wald weibull_min
"""
_INITIALIZERS: Final = """
    delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal
    kaiming_uniform lecun_normal lecun_uniform variance_scaling xavier_normal
    xavier_uniform
"""
_DRAWS: Final = frozenset(_DISTRIBUTIONS.split() + _INITIALIZERS.split())
"""What a stream can draw by name: the functions of `jax.random`, and initializers."""


# ------------------------------------------------------------------------- streams


class RngStream(Pytree):
    """A stream of random keys, with a count of the keys taken.

    Calling a stream returns the next key. Methods named like the functions of
    `jax.random` draw numbers, without the key argument: `stream.normal((2, 3))`.

    Args:
        key: An int or a key of jax.
        tag: The name of the stream, which is also its tag for filters.

    Raises:
        ValueError: The key is not one of these.

    Example:
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> stream = nn.RngStream(0, tag="noise")
        >>> again = nn.clone(stream)
        >>> bool((stream.normal((2,)) == again.normal((2,))).all())
        True

    Modelled on `flax.nnx.RngStream`.
    """

    def __init__(self, key: Any, *, tag: str) -> None:
        numpy = _jax().numpy
        first_key = _key_of(key)
        count = numpy.zeros(first_key.shape, dtype=numpy.uint32)
        self.tag = tag
        self.key: RngKey = RngKey(first_key, tag=tag)
        self.count: RngCount = RngCount(count, tag=tag)

    def __call__(self) -> Any:
        """Return the next key."""
        count = self.count.get_value()
        # The key stays, so that the numbers depend on the seed and the count alone.
        key = _jax().random.fold_in(self.key.get_value(), count)
        self.count.set_value(count + 1)
        return key

    def _with_key(self, key: Any) -> RngStream:
        return type(self)(key, tag=self.tag)

    def split(self, k: Shape) -> RngStream:
        """Return a stream with one key for each part, derived from the next key.

        Args:
            k: The number of parts, or a shape for parts along several axes.
        """
        return self._with_key(_jax().random.split(self(), k))

    def fork(self, *, split: Shape | None = None) -> RngStream:
        """Return a stream that starts with the next key.

        Args:
            split: The number of parts, or their shape; without it the stream has one
                key and no axes.
        """
        if split is not None:
            return self.split(split)
        return self._with_key(self())

    def broadcast(self, k: Shape) -> RngStream:
        """Return a stream with a copy of the next key in each part.

        Args:
            k: The number of parts, or a shape for parts along several axes.
        """
        key = self()
        shape = (k,) if isinstance(k, int) else k
        return self._with_key(_jax().numpy.broadcast_to(key, shape + key.shape))

    def __getattr__(self, name: str) -> Any:
        """Return a function that draws numbers from a distribution."""
        if name not in _DRAWS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        # An orthogonal matrix is both; Flax prefers `jax.random`, too.
        function = getattr(_jax().random, name, None)
        if function is not None:
            return self._with_next_key(function)
        make = getattr(need("jax.nn.initializers", "nn.Rngs"), name)

        def initializer(*args: Any, **kwargs: Any) -> Callable[..., Any]:
            return self._with_next_key(make(*args, **kwargs))

        return initializer

    def _with_next_key(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that passes the next key of the stream to another one."""

        def draw(*args: Any, **kwargs: Any) -> Any:
            return function(self(), *args, **kwargs)

        return draw


class Rngs(Pytree):
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
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> seeds = jax.random.split(jax.random.key(0))
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
        for name, seed in streams.items():
            key = seed.key.get_value() if isinstance(seed, RngStream) else seed
            setattr(self, name, RngStream(key, tag=name))

    def __call__(self) -> Any:
        """Return the next key of the default stream."""
        return self._stream("default", AttributeError)()

    def __getattr__(self, name: str) -> Any:
        """Return a function that draws numbers, or a stream."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name in _DRAWS:
            return getattr(self._stream("default", AttributeError), name)
        return self._stream(name, AttributeError)

    def __getitem__(self, name: str) -> RngStream:
        """Return a stream, or the default one."""
        return self._stream(name, KeyError)

    def _stream(self, name: str, error: type[Exception]) -> RngStream:
        attributes = vars(self)
        stream = attributes.get(name, attributes.get("default"))
        if not isinstance(stream, RngStream):
            names = ", ".join([repr(name) for name in self]) or "none"
            raise error(
                f"No RngStream named {name!r} found in Rngs; there are: {names}"
            )
        return stream

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
            >>> jax = pytest.importorskip("jax")
            >>> from leafwise import nn
            >>> rngs = nn.Rngs(0, noise=1)
            >>> {name: s.key.shape for name, s in rngs.split({"noise": 7}).items()}
            {'noise': (7,), 'default': ()}
        """
        return self._each(k, RngStream.split, _unchanged)

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
        return self._each(k, RngStream.broadcast, _unchanged)

    def _each(
        self,
        shapes: Shapes,
        change: Callable[[RngStream, Shape], RngStream],
        otherwise: Callable[[RngStream], RngStream],
    ) -> Rngs:
        """Return new streams.

        Args:
            shapes: A shape for all streams, or by filter; the first filter that matches
                a stream applies.
            change: Makes a stream from one with a shape.
            otherwise: Makes a stream from one without a shape.
        """
        by_filter: Mapping[Filter, Shape | None]
        by_filter = shapes if isinstance(shapes, Mapping) else {...: shapes}
        cases = [(predicate(only), shape) for only, shape in by_filter.items()]
        streams = {}
        for name, stream in self.items():
            shape = _first_match(cases, stream)
            if shape is None:
                streams[name] = otherwise(stream)
            else:
                streams[name] = change(stream, shape)
        return Rngs(streams)


def _unchanged(stream: RngStream) -> RngStream:
    # `Rngs` takes its key for a new stream, which so begins with a count of 0, as in
    # Flax.
    return stream


def _first_match(
    cases: list[tuple[Predicate, Shape | None]],
    stream: RngStream,
) -> Shape | None:
    """Return the shape of the first filter that matches a stream, None without one."""
    for matches, shape in cases:
        if matches((), stream):
            return shape
    return None
