"""Text programs with tree rules of their own: batching, and feedback that goes back.

A program is a function of trees of texts that calls primitives, such as `fill`.
`batch` runs it on lists of texts; `pullback` runs it and gives a function that takes
feedback on the result and returns feedback on each text that went in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import leafwise as lw


rules = lw.namespace("texts")
"""What is a tree here: register classes with `@rules.dataclass`."""


# -------------------------------------------------------------------- primitives


class Traced:
    """A text that remembers which primitive made it of what."""

    def __init__(self, text: str, parents: Any = (), route: Any = None) -> None:
        self.text = text
        self.parents = parents
        self.route = route
        self.feedback: list[str] = []


def plain(value: Any) -> Any:
    """Return a text without its memory."""
    return value.text if isinstance(value, Traced) else value


def primitive(route: Callable[[str, str], str]) -> Callable[..., Any]:
    """Make a function of texts one that can be traced.

    Args:
        route: Takes the feedback on a result and the argument that it is routed to,
            returns the feedback on the argument.
    """

    def decorate(function: Callable[..., str]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            text = function(*map(plain, args))
            traced = any(isinstance(arg, Traced) for arg in args)
            return Traced(text, args, route) if traced else text

        return call

    return decorate


@primitive(lambda feedback, argument: f"{argument!r}: {feedback}")
def fill(template: str, *texts: str) -> str:
    """Put texts into the braces of a template."""
    return template.format(*texts)


# --------------------------------------------------------------------- transforms


def batch(program: Callable[..., Any], in_axes: Any = True) -> Callable[..., Any]:
    """Run a program on each row of its arguments, which have lists for texts.

    Args:
        program: The program.
        in_axes: A prefix of the arguments: whether what is below has a list for each
            text, or is the same for all rows.
    """

    def batched(*args: Any) -> Any:
        columns, treedef = rules.tree_flatten(args, is_leaf=list)
        places = treedef.unflatten(range(len(columns)))
        mapped = rules.broadcast_prefix(in_axes, places)
        pairs = [*zip(columns, mapped, strict=True)]
        (count,) = {len(column) for column, is_mapped in pairs if is_mapped}
        rows = []
        for row in range(count):
            leaves = [
                column[row] if is_mapped else column for column, is_mapped in pairs
            ]
            rows.append(program(*treedef.unflatten(leaves)))
        return rules.tree_map(lambda *texts: [*texts], *rows)

    return batched


def pullback(program: Callable[..., Any], *args: Any) -> tuple[Any, Callable[..., Any]]:
    """Run a program; return its result and what routes feedback on it back.

    The second takes a tree of feedback like the result, and returns one like the
    arguments: at each text all that reached it, and None where nothing did.
    """
    traced = rules.tree_map(Traced, args)
    results, treedef = rules.tree_flatten(program(*traced))

    def route_back(feedback: Any) -> Any:
        texts = [*_in_order(rules.tree_leaves((traced, results)))]
        for text in texts:
            text.feedback.clear()
        for result, words in zip(results, treedef.flatten_up_to(feedback), strict=True):
            if isinstance(result, Traced):
                result.feedback.append(words)
        for text in reversed(texts):
            for words in text.feedback:
                for parent in text.parents:
                    if isinstance(parent, Traced):
                        parent.feedback.append(text.route(words, parent.text))
        return rules.tree_map(lambda text: "; ".join(text.feedback) or None, traced)

    return treedef.unflatten(map(plain, results)), route_back


def _in_order(texts: list[Any], seen: set[int] | None = None) -> Iterator[Traced]:
    """Yield traced texts, each once, after those that it was made of."""
    seen = set() if seen is None else seen
    for text in texts:
        if isinstance(text, Traced) and id(text) not in seen:
            seen.add(id(text))
            yield from _in_order([*text.parents], seen)
            yield text


def repeat(program: Callable[[Any], Any], state: Any, times: int) -> Any:
    """Carry a state through a program again and again; it has to keep its structure."""
    for _ in range(times):
        before, state = state, program(state)
        for error in rules.equality_errors(before, state):
            raise TypeError(f"the program changed its state: {error}")
    return state
