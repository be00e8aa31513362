"""The programs in `docs/examples` that need jax, and the pages' examples with it."""

import doctest
from pathlib import Path

from sybil import Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.parsers.abstract import DocTestStringParser
from sybil.parsers.myst import CodeBlockParser

from helpers.repository import load_module
from leafwise import nn


DOCS = Path(__file__).parents[2] / "docs"


def test_training(jax, optax, capsys):
    """The loss falls, the tied layers stay tied, the statistics move."""
    train = load_module("docs/examples/train.py")
    models = []
    train.Training.__init__ = remembering(train.Training.__init__, models)
    losses = train.main(100)
    (training,) = models
    assert losses[-1] < losses[0] / 5
    assert capsys.readouterr().out.startswith("100 steps: loss 0.")
    assert training.model.decoder is training.model.encoder
    assert len(nn.state(training.model, nn.Param).encoder) == 2
    assert int(training.steps) == 100
    assert float(abs(training.model.norm.mean.value).sum()) > 0
    assert not training.model.norm.training


def remembering(init, models):
    """Return an `__init__` that puts its object into a list."""

    def remember(self, *args, **kwargs):
        models.append(self)
        init(self, *args, **kwargs)

    return remember


class ConsoleParser:
    """Finds the examples that need a framework: blocks of `pycon`."""

    def __init__(self):
        self.blocks = CodeBlockParser("pycon", evaluator=print)
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        self.doctests = DocTestStringParser(DocTestEvaluator(options))

    def __call__(self, document):
        for block in self.blocks(document):
            for region in self.doctests(block.parsed, document.path):
                region.adjust(block, block.parsed)
                yield region


def check(name):
    """Evaluate the examples of a page."""
    document = Sybil(parsers=[ConsoleParser()]).parse(DOCS / name)
    examples = list(document.examples())
    assert examples
    for example in examples:
        example.evaluate()


def test_the_page_on_bridges(jax, equinox, torch_tree, need):
    """Its examples print what the page shows."""
    need("beartype"), need("jaxtyping")
    check("guide/bridges.md")


def test_the_page_on_classes(jax):
    """As do those that count compilations."""
    check("guide/registering.md")


def test_the_page_on_selecting(need):
    """As do those with models of pydantic."""
    need("pydantic")
    check("guide/selecting.md")
