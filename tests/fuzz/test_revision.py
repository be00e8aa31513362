"""Edits in place of YAML with anchors and merge keys, against a model."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leafwise.configs.formats import load
from leafwise.configs.revision import RevisionError, revise


pytest.importorskip("ruamel.yaml")

KEYS = st.sampled_from(["k", "l", "m", "n"])
SCALARS = st.sampled_from(["1", "0x1F", "1.20", "on", "'q'", '"d # d"', "~", "-0.0"])
COMMENTS = st.sampled_from(["", "", "  # c"])
COMMENT = re.compile("# (?:c|above .)$", re.MULTILINE)
REFUSED = (
    "comment|comes from .*<<|uses the anchor|is the alias|form that cannot be edited|"
    "expected a mapping"
)


class Alias:
    """An alias in a document, or what `<<` names."""

    def __init__(self, name):
        self.name = name


class Anchored:
    """A value with an anchor."""

    def __init__(self, name, value):
        self.name = name
        self.value = value


@st.composite
def documents(draw):
    """Draw a mapping whose later values name anchors of the earlier ones."""
    names = []

    def value(depth):
        kind = draw(st.integers(0, 5))
        if kind == 0 and names:
            return Alias(draw(st.sampled_from(names)))
        if kind < 3 or depth > 2:
            return draw(SCALARS)
        if kind == 3:
            return [value(depth + 1) for _ in range(draw(st.integers(0, 3)))]
        text = mapping(depth + 1)
        if draw(st.booleans()):
            names.append(f"a{len(names)}")
            return Anchored(names[-1], text)
        return text

    def mapping(depth):
        keys = draw(st.lists(KEYS, max_size=3, unique=True))
        items = {}
        if names and draw(st.booleans()):
            items["<<"] = Alias(draw(st.sampled_from(names)))
        return items | {key: value(depth + 1) for key in keys}

    return {key: value(0) for key in draw(st.lists(KEYS, min_size=1, unique=True))}


def written(draw, node, indent):
    """Return a node as YAML, from behind its key or dash to the end of its lines."""
    comment = draw(COMMENTS)
    anchor = ""
    if isinstance(node, Anchored):
        anchor = f" &{node.name}"
        node = node.value
    if isinstance(node, Alias):
        return f" *{node.name}{comment}\n"
    if isinstance(node, str):
        return f" {node}{comment}\n"
    is_list = isinstance(node, list)
    if not node or draw(st.booleans()):
        return f"{anchor} {flow(node)}{comment}\n"
    lines = f"{anchor}{comment}\n"
    keys = range(len(node)) if is_list else node
    for key in keys:
        above = f"{indent}# above {key}\n" if draw(st.booleans()) else ""
        head = "-" if is_list else f"{key}:"
        lines += above + indent + head + written(draw, node[key], f"{indent}  ")
    return lines


def flow(node):
    """Return a node as YAML between brackets."""
    if isinstance(node, Anchored):
        return f"&{node.name} {flow(node.value)}"
    if isinstance(node, dict):
        pairs = [f"{key} : {flow(value)}" for key, value in node.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(node, list):
        return f"[{', '.join(map(flow, node))}]"
    return f"*{node.name} " if isinstance(node, Alias) else node


def resolved(node, anchors):
    """Return the values of a document."""
    if isinstance(node, Anchored):
        anchors[node.name] = resolved(node.value, anchors)
        return anchors[node.name]
    if isinstance(node, Alias):
        return anchors[node.name]
    if isinstance(node, list):
        return [resolved(item, anchors) for item in node]
    if not isinstance(node, dict):
        return load(node, "yaml").tree if isinstance(node, str) else node
    merged = resolved(node["<<"], anchors) if "<<" in node else {}
    own = {key: resolved(value, anchors) for key, value in node.items() if key != "<<"}
    return {**merged, **own}


def changed(node, path, change):
    """Return a document with another container, which stands in the text itself."""
    if isinstance(node, Anchored):
        return Anchored(node.name, changed(node.value, path, change))
    if not path:
        return change(node)
    assume(isinstance(node, dict | list))
    if isinstance(node, list):
        return [changed(x, path[1:], change) if n == path[0] else x
                for n, x in enumerate(node)]  # fmt: skip
    assume(path[0] in node)
    return {
        key: changed(x, path[1:], change) if key == path[0] else x
        for key, x in node.items()
    }


def edited(node, path, change):
    """Return a tree with another container at a path."""
    if not path:
        return change(node)
    copied = node.copy()
    copied[path[0]] = edited(node[path[0]], path[1:], change)
    return copied


def containers(node, path=()):
    """Yield the paths of what is not an alias."""
    node = node.value if isinstance(node, Anchored) else node
    if isinstance(node, dict | list):
        yield path
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            if key != "<<":
                yield from containers(node[key], (*path, key))


def renewed(node):
    """Return what another value is where a node was: its anchor stays."""
    return Anchored(node.name, "new") if isinstance(node, Anchored) else "new"


@given(documents(), st.data())
def test_edits_of_what_has_anchors_are_those_of_the_model(document, data):
    """Exactly that of the edit; what an alias would change with it is refused."""
    text = "".join(
        f"{key}:{written(data.draw, value, '  ')}" for key, value in document.items()
    )
    old = load(text, "yaml")
    assert repr(old.tree) == repr(resolved(document, {}))
    path = data.draw(st.sampled_from(list(containers(document))))
    word = data.draw(st.sampled_from(["set", "delete", "add"]))
    key = data.draw(KEYS)
    is_own = []

    def change(node):
        if isinstance(node, list):
            if word == "add" or not node:
                return [*node, "new"]
            return [*node[:-1], renewed(node[-1])] if word == "set" else node[:-1]
        if word == "delete":
            is_own.append(key in node)
            return {k: x for k, x in node.items() if k != key}
        return {**node, key: renewed(node.get(key))}

    expected_tree = changed(document, path, change)
    if is_own[:1] == [False]:
        return  # of `<<`, or not there
    tree = edited(old.tree, path, change)
    revised = ""
    reason = ""
    try:
        revised = revise(text, old, tree)
    except RevisionError as error:
        reason = str(error)
    if reason:
        assert re.search(REFUSED, reason)
        return
    try:
        expected = resolved(expected_tree, {})
    except KeyError:  # an anchor that went
        raise AssertionError((text, revised)) from None
    tree_read = load(revised, "yaml").tree
    assert ordered(tree_read) == ordered(expected), (text, revised)
    assert ordered(tree_read) == ordered(tree), (text, revised)
    if word != "delete":
        assert sorted(COMMENT.findall(text)) == sorted(COMMENT.findall(revised))


def ordered(tree):
    """Return a text of a tree in which the order of keys does not matter."""
    if isinstance(tree, dict):
        return sorted((key, ordered(value)) for key, value in tree.items())
    return list(map(ordered, tree)) if isinstance(tree, list) else repr(tree)
