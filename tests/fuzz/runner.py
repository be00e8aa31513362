"""Rounds, parts and findings: what runs the fuzzer and reports what it finds.

A part is a module with a function `play(round)`. All random choices of a round come
from its name, so that it can be played again.
"""

import contextlib
import importlib
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any


PARTS = {
    "engine": "engine",
    "jax": "peer_jax",
    "optree": "peer_optree",
    "dm-tree": "peer_dm_tree",
    "torch": "peer_torch",
    "threads": "threads",
    "forks": "forks",
    "interrupts": "interrupts",
    "documents": "documents",
    "edits": "edits",
    "diffs": "diffs",
    "merges": "merges",
    "masks": "masks",
    "transposes": "transposes",
    "graphs": "graphs",
    "texts": "texts",
    "files": "files",
}
"""The parts, and the modules that they are in."""

OPTIONAL = frozenset({"jax", "optree", "tree", "torch", "leafwise.engine"})
"""What may be missing; the parts that need it are left out."""

_PATIENCE = 120  # seconds for one round, which takes a few milliseconds
_ENOUGH = 20  # findings of one part
_LONG = 2000  # letters of one result


class Differs(Exception):
    """Two results that should be the same are not."""


class Hangs(BaseException):
    """A round did not come to its end."""


class Round:
    """One round of a part: its random choices, what it did, what it compared.

    Attributes:
        part: The name of the part.
        seed: The seed of the run.
        number: The number of the round.
        random: The source of its choices.
        comparisons: How many results were compared.
        steps: What was done so far, for the report of a finding.
    """

    def __init__(self, part: str, seed: int, number: int) -> None:
        self.part = part
        self.seed = seed
        self.number = number
        self.random = self.again()
        self.comparisons = 0
        self.steps: list[str] = []

    def again(self) -> Random:
        """Return a source that makes the same choices as this round, from the start."""
        return Random(f"{self.part}-{self.seed}-{self.number}")

    def step(self, text: str) -> None:
        """Note what is done."""
        self.steps.append(text)

    def same(self, what: str, expected: Any, found: Any) -> None:
        """Compare two results.

        Raises:
            Differs: They are not equal.
        """
        self.comparisons += 1
        if expected != found:
            raise Differs(f"{what}\n{shown(expected, found)}")

    def holds(self, what: str, condition: object) -> None:
        """Note that something was looked at that should be true.

        Raises:
            Differs: It is not.
        """
        self.comparisons += 1
        if not condition:
            raise Differs(what)

    @property
    def command(self) -> str:
        """The command that plays this round again."""
        return (
            f"python -m tests.fuzz --part {self.part} --seed {self.seed} "
            f"--round {self.number}"
        )


def shown(expected: Any, found: Any) -> str:
    """Return the text of two results, and of the first place where they differ."""
    one, other, place = expected, found, ""
    while (
        type(one) is type(other)
        and isinstance(one, tuple | list)
        and len(one) == len(other)
    ):
        index = next(i for i, part in enumerate(one) if part != other[i])
        one, other, place = one[index], other[index], f"{place}[{index}]"
    text = f"  expected: {clipped(expected)}\n  found:    {clipped(found)}"
    if not place:
        return text
    return (
        f"{text}\n  first at {place}:\n"
        f"    expected: {clipped(one)}\n    found:    {clipped(other)}"
    )


def clipped(value: Any) -> str:
    """Return the text of a value, which is cut off if it is very long."""
    text = str(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]} ... ({len(text)} letters)"


@dataclass
class Tally:
    """What became of a part.

    Attributes:
        part: Its name.
        rounds: How many rounds were played.
        comparisons: How many results were compared.
        seconds: How long it took.
        findings: What was found, ready to be printed.
        skipped: Why nothing was played, empty if something was.
    """

    part: str
    rounds: int = 0
    comparisons: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.part}: skipped, {self.skipped}"
        return (
            f"{self.part}: {self.rounds} rounds, {self.comparisons} comparisons, "
            f"{self.seconds:.0f} s, {len(self.findings)} findings"
        )


def run(
    part: str,
    seed: int,
    *,
    rounds: int | None = None,
    seconds: float | None = None,
    first: int = 0,
    report: Callable[[str], object] = print,
) -> Tally:
    """Play rounds of a part, until there are enough of them or the time is up.

    Args:
        part: One of `PARTS`.
        seed: The seed.
        rounds: How many rounds, None for any number.
        seconds: How long, None for any time.
        first: The number of the first round.
        report: Takes each finding as it is made.
    """
    tally = Tally(part)
    try:
        play = importlib.import_module(f".{PARTS[part]}", __package__).play
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        tally.skipped = f"{error.name} is not installed"
        return tally
    begin = time.monotonic()
    while (rounds is None or tally.rounds < rounds) and len(tally.findings) < _ENOUGH:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        one = Round(part, seed, first + tally.rounds)
        finding = played(play, one)
        tally.rounds += 1
        tally.comparisons += one.comparisons
        if finding:
            tally.findings.append(finding)
            report(finding)
    tally.seconds = time.monotonic() - begin
    return tally


def played(play: Callable[[Round], object], one: Round) -> str:
    """Play a round; return the text of what was found, empty for nothing."""
    try:
        with _time_limit():
            play(one)
    except Differs as error:
        return _finding(one, str(error))
    except (Exception, Hangs):
        return _finding(one, traceback.format_exc())
    return ""


def _finding(one: Round, text: str) -> str:
    steps = "".join(f"  {clipped(step)}\n" for step in one.steps[-12:])
    return (
        f"--- {one.part}, round {one.number}\n{steps}{text}\n"
        f"again with: {one.command}\n"
    )


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Raise an error in what takes too long, where the system can do that."""
    if (
        not hasattr(signal, "SIGALRM")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def stop(*_: Any) -> None:
        raise Hangs(f"no end after {_PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
