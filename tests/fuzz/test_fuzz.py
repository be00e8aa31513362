"""A few rounds of each part of the fuzzer, always the same ones."""

import pytest

from fuzz.__main__ import main
from fuzz.runner import PARTS, Differs, Round, played, run


ROUNDS = {"engine": 3, "threads": 2, "forks": 1}


# an interrupt may come while the interpreter closes a file or drops a weak reference
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_callbacks")
@pytest.mark.parametrize("part", PARTS)
def test_a_few_rounds(part):
    """Nothing is found; parts whose library is missing are left out."""
    tally = run(part, 0, rounds=ROUNDS.get(part, 10))
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.findings == []
    assert tally.comparisons > 0


def test_a_finding_says_how_to_find_it_again():
    """It has the part, the round, what was done, both results and a command."""

    def play(one):
        one.step("did this")
        one.same("result", ("tuple", 1), ("tuple", 2))

    text = played(play, Round("edits", 7, 3))
    assert text == (
        "--- edits, round 3\n"
        "  did this\n"
        "result\n"
        "  expected: ('tuple', 1)\n"
        "  found:    ('tuple', 2)\n"
        "  first at [1]:\n"
        "    expected: 1\n"
        "    found:    2\n"
        "again with: python -m tests.fuzz --part edits --seed 7 --round 3\n"
    )


def test_an_error_is_a_finding():
    """What a part does not expect is reported with its traceback."""

    def play(one):
        raise ZeroDivisionError("mine")

    assert "ZeroDivisionError: mine" in played(play, Round("edits", 0, 0))


def test_a_round_makes_the_same_choices_again():
    """They come from the part, the seed and the number alone."""
    first, second = Round("edits", 1, 2), Round("edits", 1, 2)
    assert first.random.random() == second.random.random()
    assert first.again().random() == second.again().random()
    assert Round("diffs", 1, 2).random.random() != first.again().random()
    with pytest.raises(Differs, match=r"^what$"):
        first.holds("what", condition=False)


def test_the_command_line(capsys):
    """It prints a line for each part, and is 0 where nothing was found."""
    arguments = ["--part", "transposes", "--part", "masks", "--seed", "1"]
    assert main([*arguments, "--rounds", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "transposes, seed 1"
    assert printed[-1].startswith("masks: 2 rounds, ")
    assert main([*arguments, "--round", "5"]) == 0
    assert main(["--part", "texts", "--minutes", "0", "--seed", "1"]) == 0
