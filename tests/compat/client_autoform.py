"""Programs of users of autoform; what they print is compared. Run as a script.

The first ones are those of its page on pytrees, then transforms inside transforms, and
at last the examples in the docstrings of all its modules.
"""

import doctest
import importlib
import pkgutil

import autoform as af
import optree
import optree.dataclasses


@optree.dataclasses.dataclass(namespace=af.PYTREE_NAMESPACE)
class State:
    topic: str
    draft: str


@optree.dataclasses.dataclass(namespace=af.PYTREE_NAMESPACE)
class F32Array:
    values: tuple[float, ...]
    shape: tuple[int, ...] = optree.dataclasses.field(pytree_node=False)
    dtype: str = optree.dataclasses.field(default="float32", pytree_node=False)


class Manual:
    def __init__(self, topic, draft):
        self.topic = topic
        self.draft = draft

    def __repr__(self):
        return f"Manual({self.topic!r}, {self.draft!r})"


optree.register_pytree_node(
    Manual,
    lambda state: ((state.topic, state.draft), None),
    lambda metadata, children: Manual(*children),
    namespace=af.PYTREE_NAMESPACE,
)


@optree.dataclasses.dataclass(namespace=af.PYTREE_NAMESPACE)
class Explainer:
    instruction: str
    style: str

    def __call__(self, topic):
        text = "{}\nstyle: {}\ntopic: {}"
        return af.format(text, self.instruction, self.style, topic)


def page():
    """Show the registered classes of the page."""
    space = af.PYTREE_NAMESPACE
    for state in (State("dna", "short"), Manual("dna", "short")):
        print(optree.tree_map(str.upper, state, namespace=space))
        print(optree.tree_structure(state, namespace=space))
        print(optree.tree_accessors(state, namespace=space))
        print(optree.tree_leaves(state))
    array = F32Array(values=(1.0, 2.0), shape=(2,))
    print(optree.tree_map(lambda x: x * 10, array, namespace=space))
    print(optree.tree_structure(array, namespace=space))
    explain = af.trace(lambda model, topic: model(topic))
    print(explain(Explainer("say", "dry"), "dna").call(Explainer("tell", "wet"), "rna"))


def transforms():
    """Show batches in batches, pullbacks of and in batches, and a state in them."""

    def join(state, mark):
        return State(af.concat(state.topic, mark), af.format("<{}>", state.draft))

    traced = af.trace(join)(State("t", "d"), "!")
    once = af.batch(traced, in_axes=(True, False))
    states = State(["a", "b"], ["c", "d"])
    print(once.call(states, "?"))
    twice = af.batch(once, in_axes=(True, True))
    print(twice.call(State([["a"], ["b"]], [["c"], ["d"]]), ["1", "2"]))
    print(af.pullback(traced).call((State("a", "b"), "!"), State("more", "less")))
    pulled = af.batch(af.pullback(traced), in_axes=((True, False), True))
    print(pulled.call((states, "!"), State(["x", "y"], ["z", "w"])))
    print(af.pullback(once).call((states, "!"), State(["x", "y"], ["z", "w"])))
    pushed = af.pushforward(traced)
    print(pushed.call((State("a", "b"), "!"), (State("da", "db"), "dc")))
    print(
        af.batch(pushed, in_axes=(True, True)).call(
            (states, ["1", "2"]), (states, ["3", "4"])
        )
    )


def docstrings():
    """Run the examples in all docstrings."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for info in pkgutil.iter_modules(af.__path__):
        module = importlib.import_module(f"autoform.{info.name}")
        print(info.name, doctest.testmod(module, optionflags=flags))


if __name__ == "__main__":
    for part in (page, transforms, docstrings):
        print(part.__name__)
        part()
