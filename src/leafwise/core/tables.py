"""Tables and labelled arrays, taken apart into what makes them what they are.

Owns what is known about pandas, polars and xarray, none of which is imported here.
Two tables are the same if their parts are: labels, names, dtypes, and the values as
numpy arrays or lists. (Their own `equals` leaves names or dtypes out, and knows of no
tolerance.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .content import instance_of


__all__ = ["is_table", "parts_of"]


def is_table(value: Any) -> bool:
    """Say whether a value is a table or labelled array that is known here."""
    module = type(value).__module__
    if module == "builtins" or module.startswith("numpy"):
        return False
    return any(instance_of(value, module, name) for module, name, _ in _TABLES)


def parts_of(table: Any) -> tuple[Any, ...]:
    """Return what makes a table what it is; tables of two sorts share no part."""
    return next(
        (name, *take_apart(table))
        for module, name, take_apart in _TABLES
        if instance_of(table, module, name)
    )


def _pandas_values(value: Any) -> tuple[Any, ...]:
    return value.dtype, value.to_numpy()


def _index(index: Any) -> tuple[Any, ...]:
    return tuple(index.names), *_pandas_values(index)


def _multi_index(index: Any) -> tuple[Any, ...]:
    levels = range(index.nlevels)
    return tuple(index.names), *(index.get_level_values(level) for level in levels)


def _series(series: Any) -> tuple[Any, ...]:
    return series.name, series.index, *_pandas_values(series)


def _frame(frame: Any) -> tuple[Any, ...]:
    columns = range(frame.shape[1])
    values = (_pandas_values(frame.iloc[:, column]) for column in columns)
    return frame.columns, frame.index, *values


def _polars_series(series: Any) -> tuple[Any, ...]:
    return series.name, str(series.dtype), series.to_list()


def _polars_frame(frame: Any) -> tuple[Any, ...]:
    return frame.height, *frame.get_columns()


def _variable(variable: Any) -> tuple[Any, ...]:
    return variable.dims, variable.attrs, variable.values


def _data_array(array: Any) -> tuple[Any, ...]:
    coordinates = {name: coord.variable for name, coord in array.coords.items()}
    return array.name, array.variable, coordinates


def _dataset(dataset: Any) -> tuple[Any, ...]:
    return dict(dataset.variables), {*dataset.coords}, dataset.attrs


_TABLES: Final[tuple[tuple[str, str, Callable[[Any], tuple[Any, ...]]], ...]] = (
    ("pandas", "DataFrame", _frame),
    ("pandas", "Series", _series),
    ("pandas", "MultiIndex", _multi_index),
    ("pandas", "Index", _index),
    ("pandas.api.extensions", "ExtensionArray", _pandas_values),
    ("polars", "DataFrame", _polars_frame),
    ("polars", "Series", _polars_series),
    ("xarray", "Dataset", _dataset),
    ("xarray", "DataArray", _data_array),
    ("xarray", "Variable", _variable),
)
