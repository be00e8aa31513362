"""Keys and key paths."""

import copy
import pickle

import pytest

import leafwise as lw
from leafwise.core.keypath import as_key, sequence_keys


KEYS = [
    lw.SequenceKey(1),
    lw.DictKey("a"),
    lw.GetAttrKey("n"),
    lw.FlattenedIndexKey(3),
]


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        (lw.SequenceKey(1), "[1]", "SequenceKey(idx=1)"),
        (lw.DictKey("a"), "['a']", "DictKey(key='a')"),
        (lw.GetAttrKey("n"), ".n", "GetAttrKey(name='n')"),
        (lw.FlattenedIndexKey(3), "[<flat index 3>]", "FlattenedIndexKey(key=3)"),
    ],
)
def test_text_and_repr(key, text, shown):
    """Keys print as those of jax do."""
    assert str(key) == text
    assert repr(key) == shown


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_are_values(key):
    """Keys pickle, copy, hash and match by position, and cannot be changed."""
    name = type(key).__match_args__[0]
    assert pickle.loads(pickle.dumps(key)) == key
    assert copy.deepcopy(key) == key
    assert hash(copy.copy(key)) == hash(key)
    with pytest.raises(AttributeError, match="cannot be changed"):
        setattr(key, name, 0)
    with pytest.raises(AttributeError, match="cannot be changed"):
        delattr(key, name)


def test_keys_of_two_classes_are_never_equal():
    """A position in a list is no dict key, even where the values are equal."""
    assert lw.SequenceKey(1) != lw.FlattenedIndexKey(1)
    assert lw.SequenceKey(1) != lw.DictKey(1)
    assert lw.DictKey(1) == lw.DictKey(1.0)
    assert len({lw.SequenceKey(1), lw.FlattenedIndexKey(1), lw.DictKey(1)}) == 3


def test_keys_match_in_a_pattern():
    """A key can be taken apart by `match`."""
    match lw.DictKey("a"):
        case lw.DictKey(name):
            assert name == "a"
        case _:
            pytest.fail("no match")


def test_key_path_is_a_tuple_with_a_text():
    """A key path equals the tuple of its keys and prints as `keystr`."""
    path = lw.KeyPath((lw.DictKey("a"), lw.SequenceKey(0)))
    assert path == (lw.DictKey("a"), lw.SequenceKey(0))
    assert str(path) == lw.keystr(path) == "['a'][0]"
    assert repr(path) == "KeyPath((DictKey(key='a'), SequenceKey(idx=0)))"
    assert pickle.loads(pickle.dumps(path)) == path
    assert (path.where(), lw.KeyPath().where()) == ("['a'][0]", "the root")


def test_raw_keys_become_key_objects():
    """A str names an attribute and an int a position; objects stay as they are."""
    own = object()
    assert as_key("x") == lw.GetAttrKey("x")
    assert as_key(2) == lw.SequenceKey(2)
    assert as_key(own) is own


def test_long_sequences_have_keys_too():
    """The shared keys and the others follow each other without a gap."""
    assert [key.idx for key in sequence_keys(200)] == list(range(200))
