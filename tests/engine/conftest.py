"""The engine may be deleted; its tests go with it."""

import importlib.util

import pytest


if importlib.util.find_spec("leafwise.engine") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import leafwise as lw

    @pytest.fixture(params=["eager", "enabled"])
    def engine_on(request):
        """Switch the engine on for a test, in one of its two ways."""
        with getattr(lw.engine, request.param)():
            yield request.param

    @pytest.fixture
    def eager():
        """Compile each structure when it first occurs."""
        with lw.engine.eager():
            yield

    @pytest.fixture
    def configure_engine():
        """Return `engine.configure`; afterwards the settings are what they were."""
        previous = lw.engine.configure()
        yield lw.engine.configure
        lw.engine.configure(**previous)
