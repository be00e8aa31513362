"""The PAX cases; see `pax_cases`."""

from pax_cases import *  # noqa: F403
