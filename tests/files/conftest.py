"""What the tests of files share."""

import pytest

import leafwise as lw


@pytest.fixture
def again(tmp_path):
    """Return a function that saves a tree and loads it again."""

    def save_and_load(tree, suffix=".npz", **options):
        path = tmp_path / f"tree{suffix}"
        lw.save(path, tree, **options)
        return lw.load(path)

    return save_and_load
