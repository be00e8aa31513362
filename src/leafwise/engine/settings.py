"""The numbers of the engine: when it compiles, how much it remembers, what it writes.

`engine.configure` changes the first three. The others trade time against memory, or
against the time of programs that the engine cannot help.
"""

from __future__ import annotations

from typing import Final


class Settings:
    """One number a line, each with the reason for its size. There is one object."""

    # ---------------------------------------------------- when a structure is compiled

    min_uses = 32
    """No structure is compiled before: most structures occur only a few times."""
    max_uses = 256
    """Compiling takes as long as 10 to 250 walks, so no structure needs more uses."""
    sample_every = 17
    """One walk in 17 is noted, since a note takes about as long as the walk. A prime,
    so that each of a few structures that take turns is noted."""
    rare_factor = 7
    """While no structure recurs, notes are rarer by this factor: they would take up to
    a tenth of the time. One in 113 walks is noted then, again a prime."""
    off_interval = 1_000
    """While the engine is off, one walk in 1 000 looks whether it still is: an
    interrupt may have kept a switch from being applied."""
    max_novelty = 16
    """How many more notes of new structures than twice those of known ones say that no
    structure recurs. Fewer would be chance, while a program begins."""
    reader_uses = 16
    """Reads of objects of one shape before a function is compiled that reads them."""

    # -------------------------------------------- which compiled structures are tried

    max_candidates = 16
    """Structures behind one root key: each one that is tried in vain takes time."""
    max_misses = 16
    """After more than 16 misses in a row, guessing pauses."""
    pause = 128
    """How many trees are left to the walk in a pause."""
    max_root_keys = 256
    """Larger dicts are told apart by their length: hashing all keys takes time."""

    # --------------------------------------------------------- how much is remembered
    #
    # At a limit everything of that kind is dropped. Programs rarely reach one, and
    # keeping what was used last would take time in each call.

    max_structures = 256
    """Compiled structures: one of 50 different nodes takes about 60 kB."""
    max_entries = 2_000_000
    """Nodes of all compiled structures together."""
    drop_penalty = 4
    """Each time the structures are dropped, 4 times as many uses are needed on top."""
    max_prefixes = 256
    """Compiled prefixes of structures, which selections use. They have a table of their
    own, so that many selectors do not push structures out."""
    max_memo_leaves = 16_384
    """Larger structures keep nothing about selectors, which would take memory."""
    max_counts = 2_048
    """Structures that are counted."""
    max_root_groups = 256
    """Root keys behind one type of root."""
    max_cached_paths = 16_384
    """The paths of structures with more leaves are not cached: they take memory."""

    # ----------------------------------------------------- what may be compiled at all

    max_planned_nodes = 1_000_000
    """Nodes of a structure: planning larger ones would take seconds."""
    max_depth = 250
    """Nodes on the longest way down: the compiler recurses into nested expressions."""
    max_loops = 16
    """Nested loops: CPython allows 20 nested blocks."""
    max_lines = 2_000
    """About how many lines: compiling more would take longer than it saves."""

    # --------------------------------------------------- how the generated text is cut

    max_unrolled_lines = 80
    """About how many lines equal neighbours may take if each is written out."""
    min_spread = 4
    """From so many items on, one operation on all takes less time than one on each."""
    max_unpacked = 12
    """Children that get names by unpacking their sequence. Of more, most are mostly
    leaves, which are taken in one go."""
    max_leaf_checks = 128
    """Leaves whose types are compared one by one, which takes half the time of looking
    all of them up, but a condition for each."""
    max_key_checks = 32
    """Keys that are compared one by one, for the same reason."""
    min_filled = 16
    """A dict of so many keys is filled in, a smaller one is a display: CPython makes a
    display of few keys in one step, of more key by key. Filled in takes 0.8 of the time
    for 16 keys, 0.6 to 0.75 for 20, 0.4 for 200."""
    max_assigned = 256
    """Items of a mapping that are assigned one by one, with a line for each."""
    levels_per_name = 12
    """Levels after which a node gets a name: the compiler recurses into expressions."""
    max_literal_length = 64
    """Longer strings are not written out: they would make the text hard to read."""
    max_files = 2_000
    """Generated functions whose lines are kept for tracebacks: they take memory."""

    def note_interval(self, *, is_rare: bool) -> int:
        """Return in how many walks one is noted."""
        if is_rare:
            return 1 + (self.sample_every - 1) * self.rare_factor
        return self.sample_every


settings: Final = Settings()
