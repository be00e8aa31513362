"""The NNX cases with numpy arrays; see `nnx_cases`."""

import numpy as np
import pytest

from nnx_cases import *  # noqa: F403


@pytest.fixture
def xp():
    return np
