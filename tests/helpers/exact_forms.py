"""What tells two values apart exactly, and what a call returns or raises.

Two trees that are equal to `==` may still differ in types, in the order of keys, or in
aux data. The exact forms of two such trees differ.
"""

import dataclasses
from collections import deque
from typing import Any

import leafwise as lw
from helpers.confusable_trees import Fixed, Node, Odd, Raising
from leafwise import nn, testing
from leafwise.core.builtins import MAPPINGS


def exact_form(value: Any) -> Any:
    """Return plain data that differs wherever two values do: types, order, aux data."""
    cls = type(value)
    name = cls.__name__
    if cls in (int, str, float, bool):  # most values: do not look further
        return name, repr(value)
    if isinstance(value, lw.Partial):
        return "Partial", exact_form(value.args), exact_form(value.keywords)
    if isinstance(value, list | tuple | deque):
        return name, getattr(value, "maxlen", 0), _exact_forms(value)
    if cls in MAPPINGS:
        factory = repr(getattr(value, "default_factory", 0))
        return name, factory, _exact_items(value)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return name, _exact_forms(getattr(value, field.name) for field in fields)
    if isinstance(value, nn.List):
        paths = lw.tree_paths(value, is_leaf=lambda node: node is not value)
        keys = [path[0].entry for path in paths]
        return name, keys, _exact_forms(value)
    if isinstance(value, lw.Pytree):
        kinds = [kind.value for kind in nn.name_to_kind(value).values()]
        pairs = [(key, exact_form(item)) for key, item in vars(value).items()]
        return name, kinds, pairs
    if isinstance(value, Node):
        return name, _exact_forms(value.kids), exact_form(value.aux)
    if cls is Fixed:
        return name, exact_form(value.value)
    if cls in (Odd, Raising):
        return id(value)
    if cls is lw.PyTreeDef:
        return exact_form_of_treedef(value)
    return name, repr(value)


def _exact_forms(values: Any) -> list[Any]:
    return [exact_form(value) for value in values]


def _exact_items(mapping: Any) -> list[Any]:
    return [(exact_form(key), exact_form(item)) for key, item in mapping.items()]


def exact_form_of_treedef(treedef: lw.PyTreeDef) -> Any:
    """Return the text of a treedef, its keys, and a tree that it builds."""
    paths = [[exact_form(key._values()) for key in path] for path in treedef.paths()]
    tree = treedef.unflatten(range(treedef.num_leaves))
    return repr(treedef), paths, exact_form(tree)


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    """Return the exact form of what a call returns, or its exception with its notes."""
    try:
        return exact_form(function(*args, **options))
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", None)


def passes(check: Any, *args: Any, **options: Any) -> bool:
    """Return whether a call raises no AssertionError."""
    try:
        check(*args, **options)
    except AssertionError:
        return False
    return True


def agreed_equality(one: Any, other: Any, **options: Any) -> bool:
    """Return whether two trees are equal; all functions that compare must agree.

    They are asked in both directions.
    """
    answers = set[bool]()
    tolerances = {name: options.get(name, 0) for name in ("rtol", "atol")}
    for a, b in ((one, other), (other, one)):
        answers.add(lw.tree_equal(a, b, **options))
        diff = lw.tree_diff(a, b, **options)
        answers.add(not diff)
        answers.add(len(diff) == 0)
        patched = diff.apply(a)
        is_leaf = options.get("is_leaf")
        assert lw.tree_equal(patched, b, is_leaf=is_leaf, **tolerances)
        answers.add(passes(testing.assert_trees_equal, a, b, **options))
    (answer,) = answers
    return answer
