"""The project's own fuzzer: random programs, compared with what is known to be right.

Run it from the root of the repository:

    python -m tests.fuzz --minutes 10
    python -m tests.fuzz --part edits --part diffs --minutes 2
    python -m tests.fuzz --part engine --seed 7 --round 1234

The last form plays one round again, and is what a finding prints.
"""
