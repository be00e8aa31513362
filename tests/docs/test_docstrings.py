"""The examples in the docstrings of the package run and print what they say."""

import doctest
import importlib
import io

import pytest

from sources import MODULES, SOURCE


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Runner(doctest.DocTestRunner):
    """Ends an example at the skip that it asks for."""

    def report_unexpected_exception(self, out, test, example, exc_info):
        """Raise what is not a failure."""
        if isinstance(exc_info[1], pytest.skip.Exception):
            raise exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


def name_of(path):
    """Return the name of a module."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [*map(name_of, MODULES)])
def test_the_examples_of_a_module(name):
    """Each docstring by itself; one that needs what is not installed is left out."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"could not import {error.name!r}: No module named {error.name!r}")
    said, runner = io.StringIO(), Runner(optionflags=FLAGS)
    skipped = []
    for example in doctest.DocTestFinder().find(module):
        try:
            runner.run(example, out=said.write)
        except pytest.skip.Exception as why:
            skipped.append(str(why))
    assert runner.summarize(verbose=False).failed == 0, said.getvalue()
    if skipped:
        pytest.skip(skipped[0])
