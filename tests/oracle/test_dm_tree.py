"""Agreement with dm-tree, on lists, tuples, named tuples and dicts.

There None is a leaf, and an OrderedDict is walked in sorted order like any mapping, so
the trees here hold plain dicts only.
"""

from hypothesis import HealthCheck, given, settings

import leafwise as lw
from strategies import common_trees


fixtures = settings(suppress_health_check=list(HealthCheck))


@fixtures
@given(tree=common_trees(mappings=False))
def test_leaves(dm_tree, tree):
    """The leaves agree when None is a leaf."""
    assert lw.tree_leaves(tree, none_is_leaf=True) == dm_tree.flatten(tree)


@fixtures
@given(tree=common_trees(mappings=False))
def test_map(dm_tree, tree):
    """A mapped tree reads the same, dict orders included."""
    theirs = dm_tree.map_structure(repr, tree)
    assert repr(lw.tree_map(repr, tree, none_is_leaf=True)) == repr(theirs)


@fixtures
@given(tree=common_trees(mappings=False))
def test_paths(dm_tree, tree):
    """The raw keys of the paths agree."""

    def raw(key):
        return getattr(key, key.__match_args__[0])

    ours = [tuple(map(raw, path)) for path in lw.tree_paths(tree, none_is_leaf=True)]
    assert ours == [path for path, _ in dm_tree.flatten_with_path(tree)]
