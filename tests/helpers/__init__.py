"""What tests of several folders share: random trees, fixtures of peers, interruptions.

Tests import these modules as `from helpers.random_trees import trees`: pytest has the
folder `tests` on its path.
"""
