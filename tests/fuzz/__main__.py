"""The command line of the fuzzer."""

import argparse
import sys
from pathlib import Path
from random import SystemRandom

from .runner import PARTS, run


sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that are asked for; 1 if something was found, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="how long to run each part (1)"
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=[*PARTS],
        metavar="NAME",
        help=f"one of {', '.join(PARTS)}; may be given again; all by default",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="the seed; a new one by default"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="how many rounds of each part"
    )
    parser.add_argument("--round", type=int, metavar="K", help="play one round again")
    given = parser.parse_args(arguments)
    seed = SystemRandom().randrange(10**6) if given.seed is None else given.seed
    minutes, rounds = given.minutes, given.rounds
    if given.round is not None:
        rounds = 1
    elif minutes is None and rounds is None:
        minutes = 1.0
    tallies = []
    for part in given.part or PARTS:
        print(f"{part}, seed {seed}", flush=True)
        tally = run(
            part,
            seed,
            rounds=rounds,
            seconds=None if minutes is None else 60 * minutes,
            first=given.round or 0,
        )
        tallies.append(tally)
        print(tally, flush=True)
    if len(tallies) > 1:
        print("\n".join(["", "all together:", *map(str, tallies)]))
    return 1 if any(tally.findings for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
