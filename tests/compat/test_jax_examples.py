"""The examples of jax's documentation, as they stand, on what stands in for it."""

import doctest
import inspect

import pytest

import leafwise as lw
from leafwise.compat import jax_tree, jax_tree_util


FLAGS = (
    doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
)
NAMES = [("tree", name) for name in jax_tree.__all__] + [
    ("tree_util", name) for name in jax_tree_util.__all__
]


@pytest.fixture
def stood_in(jax):
    """Return jax's own modules, while ours stand in their places."""
    theirs = {"tree": jax.tree, "tree_util": jax.tree_util}
    for name in theirs:
        lw.compat.install(f"jax.{name}", force=True)
    yield theirs
    for name in theirs:
        lw.compat.uninstall(f"jax.{name}")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_examples_of_docstrings(jax, stood_in, module, name):
    """Those of jax's function run on ours."""
    text = inspect.getdoc(getattr(stood_in[module], name)) or ""
    known = {key: getattr(jax_tree_util, key) for key in jax_tree_util.__all__}
    names = {"jax": jax, "jnp": jax.numpy, "__name__": "jax.tree_util", **known}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    told = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert told == [], "".join(told)


def test_there_are_examples(jax):
    """Most functions have some."""
    texts = [inspect.getdoc(getattr(getattr(jax, m), n)) for m, n in NAMES]
    assert sum((text or "").count(">>> ") for text in texts) > 100


# ------------------------------------------------------- of the pages about pytrees
