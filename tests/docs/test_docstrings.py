"""The examples in the docstrings of the package run and print what they say."""

import contextlib
import doctest
import importlib
import io
import sys

import pytest

from helpers.package_source import MODULES, SOURCE


THREADS = {"leafwise.ops.parallel"} if sys.platform == "emscripten" else set()
"""The modules whose examples start threads, where there are none."""
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


def test_the_examples_of_all_modules():
    """Each docstring by itself; one that needs what is not installed is left out."""
    output = io.StringIO()
    failed = []
    for name in set(map(name_of, MODULES)) - THREADS:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        runner = Runner(optionflags=FLAGS)
        for example in doctest.DocTestFinder().find(module):
            with contextlib.suppress(pytest.skip.Exception):
                runner.run(example, out=output.write)
        if runner.summarize(verbose=False).failed:
            failed.append(name)
    assert failed == [], output.getvalue()
