"""The NNX cases with numpy arrays; see `helpers/nnx_pytree_cases.py`."""

import numpy as np
import pytest

from helpers.nnx_pytree_cases import *  # noqa: F403


@pytest.fixture
def xp():
    return np
