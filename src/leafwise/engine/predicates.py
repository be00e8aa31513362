"""The functions that read trees and call the user: predicates, flatten functions.

A predicate is called once for each node and leaf, and a registered flatten function
once for each node, since they may print, count, or be slow. So a function that finds,
after such a call, that a tree has another structure cannot leave the tree to the walk
as if nothing had happened. It hands over what the user's functions have returned so
far: the walk begins at the root, and takes these answers before it calls any function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import length_hint
from typing import Any, Final

from ..core.walk import CallError
from .plan import Part, Plan
from .read import FAILURES, Reader


def flatten_text(plan: Plan, *, asks: bool = False) -> Reader:
    """Return the text of `flatten` for a plan.

    Args:
        plan: The plan.
        asks: Whether the function takes a predicate.
    """
    text = Reader(plan)
    if asks or plan.root.calls_user:
        text = ResumableReader(plan, asks=asks)
    text.write()
    return text


class ResumableReader(Reader):
    """The text of a `flatten` that calls functions of the user.

    With a predicate, the tree may have just this structure, whatever the answers: a
    leaf is what the predicate says is one, or what has the type of one; of a node it
    must say no. The function notes at which question it is: `question` is twice its
    number, and one more once the answer was no, which is how it gets past a node.

    Args:
        plan: The plan.
        asks: Whether a predicate is asked.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import make_plan
        >>> plan = make_plan(lw.tree_structure([1])._code)
        >>> print(flatten_text(plan, asks=True))
        def flatten(tree, ask):
            question, questions_before, leaves_left, calls = -1, 0, (), ()
            try:
                question = 0
                if ask(tree): raise OtherStructure
                question = 1
                if type(tree) is not C1: raise OtherStructure
                leaf1, = tree
                question = 2
                if not ask(leaf1) and type(leaf1) is not T and type(leaf1) not in leaf_types: raise OtherStructure
                leaves = [leaf1]
                return leaves, TREEDEF
            except Exception as error:
                offset = questions_before - length_hint(leaves_left)
                answers = answers_of(error, question, offset, calls)
                if answers is None: raise
            return resume_walk(tree, calls, ask, answers)
        <BLANKLINE>
    """  # noqa: E501  # generated lines are not wrapped

    _refusal = "raise OtherStructure"

    def __init__(self, plan: Plan, *, asks: bool) -> None:
        super().__init__(plan)
        self.tools["OtherStructure"] = _OtherStructureError
        self.tools["length_hint"] = length_hint
        self._asks = asks
        self._records = plan.root.calls_user
        self._questions = 0  # since `before` was counted up

    def write(self) -> None:
        """Write the function."""
        ask = "ask" if self._asks else "ask=None"
        calls = "[]" if self._records else "()"
        is_leaf = list(_leaf_marks(self._plan.root)) if self._asks else []
        self.tools["answers_of"] = partial(_answers_of, is_leaf)
        with self.block(f"def flatten(tree, {ask}):"):
            self.add(
                f"question, questions_before, leaves_left, calls = -1, 0, (), {calls}"
            )
            with self.block("try:"):
                self._write_body()
            self.add(*_HAND_OVER)

    def _check_leaves(self) -> None:
        if not self._asks:  # else each leaf is checked when it is asked about
            super()._check_leaves()

    def _ask(self, part: Part | None, var: str) -> None:
        if not self._asks:
            return
        number = self._questions
        self._questions += 1
        self.add(f"question = {2 * number}")
        if part is None:
            self._ask_leaf(var)
        else:
            self._refuse_if(f"ask({var})")
            self.add(f"question = {2 * number + 1}")

    def _ask_leaf(self, leaf: str) -> None:
        is_node = f"type({leaf}) is not T and type({leaf}) not in leaf_types"
        self._refuse_if(f"not ask({leaf}) and {is_node}")

    def _ask_leaves(self, count: int, items: str) -> None:
        if not self._asks:
            return
        self._questions += count
        leaf = self.fresh("leaf")
        self.add(f"question, leaves_left = {2 * self._questions - 2}, iter({items})")
        with self.block(f"for {leaf} in leaves_left:"):
            self._ask_leaf(leaf)

    def _end_questions(self) -> None:
        if self._asks:
            self.add("question = -1", f"questions_before += {self._questions}")
        self._questions = 0

    def _record(self, value: str) -> None:
        if self._records:
            self.add(f"calls.append({value})")

    def _unrecord(self) -> None:
        if self._records:
            self.add("calls.pop()")


def _leaf_marks(part: Part) -> Iterator[bool]:
    """Yield for each node and leaf, in the order of a walk, whether it is a leaf."""
    yield False
    for child in part.children():
        if child is None:
            yield True
        else:
            yield from _leaf_marks(child)


# ------------------------------------------------------------- handing over to the walk

_HAND_OVER: Final = (
    "except Exception as error:",
    "    offset = questions_before - length_hint(leaves_left)",
    "    answers = answers_of(error, question, offset, calls)",
    "    if answers is None: raise",
    "return resume_walk(tree, calls, ask, answers)",
)


class _OtherStructureError(Exception):
    """A tree has another structure than the function that reads it."""


def _answers_of(
    is_leaf: list[bool],
    error: Exception,
    question: int,
    offset: int,
    calls: Any,
) -> list[Any] | None:
    """Return what a predicate answered, until a generated function had to give up.

    Of what was a leaf in any case, the answer is said to be yes. What a flatten
    function of the user raised is recorded, for the walk to raise where it gets there.

    Args:
        is_leaf: For each node and leaf of the structure whether it is a leaf.
        error: What was raised.
        question: Twice the number of the question that was asked last, and one more
            once the answer was no.
        offset: What is to be added to the number of the question.
        calls: The calls of flatten functions so far, as `flatten` of the walk has them.

    Returns:
        The answers; the last is the error, if the predicate raised it. None if the
        error is somebody else's.
    """
    number, is_answered = divmod(question, 2)
    number += offset
    if type(error) is not _OtherStructureError and not is_answered:
        return [*is_leaf[:number], error]
    if len(calls) % 2:  # it was called, and has not returned
        failed = CallError()
        failed.__cause__ = error
        calls.append(failed)
    elif not isinstance(error, (*FAILURES, _OtherStructureError)):
        return None
    if number < 0:
        return []
    return [*is_leaf[:number], is_leaf[number] is bool(is_answered)]


def predicate_of_answers(answers: list[Any], ask: Any) -> Callable[[Any], Any]:
    """Return a predicate that takes answers from a list, last first, then asks."""

    def answer(node: Any) -> Any:
        if not answers:
            return ask(node)
        if isinstance(answers[-1], Exception):
            # In a variable, the error would be in a cycle with its traceback.
            raise answers.pop()
        return answers.pop()

    return answer
