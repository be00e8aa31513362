"""Random edits of random documents: exactly their values, all other lines as they were.

The documents have what people write: anchors and merge keys, comments, block scalars,
brackets, tables, numbers in several notations.
"""

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import leafwise as lw
from leafwise.cli import main
from leafwise.io.formats import load
from leafwise.io.revision import RevisionError, revise

from .runner import Round


SCALARS = {  # quotes with number signs, numbers in several notations
    "yaml": ("1", "0644", "0x1F", "1_000", "1e3", "-0.0", "true", "null", "x", "a b",
             "'it # is'", '"q\\t"', "2024-02-29", "1.10"),
    "toml": ("1", "0o644", "0x1F", "1_000", "1e3", "-0.0", "true", "'x'", '"it # is"',
             '"""a\nb"""', "2024-02-29", "1.10"),
    "json": ("1", "1E3", "-0.0", "true", "null", '"x"', '"it # is"', "1.10"),
}  # fmt: skip
VALUES = (7, 2.5, True, "new", "0x1F", "a: b # c", "two\nlines", [], {}, [1, "x"],
          {"n": 1}, {"n": {"m": [1, {"o": 2}]}}, "", "- ", -0.0)  # fmt: skip


def play(one: Round) -> None:
    """Edit documents of each format, in Python and in place."""
    random = one.random
    for kind, make in (("yaml", yaml_of), ("toml", toml_of), ("json", json_of)):
        text = make(random)
        one.step(f"{kind} {text!r}")
        document = load(text, kind)
        new = edited(random, document.tree, kind)
        one.step(f"becomes {new!r}")
        check(one, text, kind, document, new)
    if random.random() < 0.1:
        interrupt(one)


def check(one: Round, text: str, kind: str, document: Any, new: Any) -> None:
    """Compare an edited text with a model: values, lines of unchanged entries."""
    try:
        made = revise(text, document, new)
    except RevisionError as error:
        reason = str(error)
        one.holds(f"refused without a reason: {reason}", len(reason) > 10)
        if "new text would" in reason and os.environ.get("FUZZ_STRICT"):
            one.holds(reason, False)
        return
    found = load(made, kind).tree
    if "*" not in text or kind != "yaml":
        one.same("values", exact(new), exact(found))
    old_lines, new_lines = text.splitlines(), made.splitlines()
    top = dict(entries(old_lines, kind))
    for key, lines in top.items():
        if "*" in text or "&" in text or not same_entry(document.tree, new, key):
            continue
        one.holds(
            f"the lines {lines} of the unchanged {key!r} are in\n{made}",
            "\n".join(lines) in "\n".join(new_lines),
        )


def same_entry(old: Any, new: Any, key: str) -> bool:
    return type(new) is dict and key in new and exact(old[key]) == exact(new[key])


def exact(tree: Any) -> Any:
    """Return what tells trees apart, types and signs included; dicts have no order."""
    if isinstance(tree, dict):
        return {key: exact(value) for key, value in tree.items()}
    return [*map(exact, tree)] if isinstance(tree, list) else repr(tree)


def entries(lines: list[str], kind: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the entries of the top level, with their lines and the comments above."""
    if kind == "json":
        return
    key, held, above, is_table = "", [], [], False
    for line in lines:
        found = re.match(r"(?:\[+)?(\w+)[^\w]", line) if kind == "toml" else re.match(
            r"(\w+):", line)  # fmt: skip
        if line.startswith("#") or not line.strip():
            above.append(line)
        elif found and (kind == "yaml" or line[0] == "[" or not is_table) and (
            found[1] != key):  # fmt: skip
            is_table = line[0] == "["
            if key:
                yield key, held
            key, held, above = found[1], [line], []
        else:
            held, above = [*held, *above, line], []
    if key:
        yield key, held


# ------------------------------------------------------------------------ documents


def comment(random: Random) -> str:
    return f"  # c{random.randrange(1000)}" if random.random() < 0.3 else ""


def flow(random: Random, kind: str, depth: int) -> str:
    """Return a scalar, or a list or mapping in brackets."""
    what = random.random()
    if depth <= 0 or what < 0.6:
        return random.choice([s for s in SCALARS[kind] if "\n" not in s])
    items = [flow(random, kind, depth - 1) for _ in range(random.randrange(4))]
    if what < 0.8:
        return random.choice(("[{}]", "[ {} ]")).format(", ".join(items))
    sign, quote = {"toml": (" = ", ""), "yaml": (": ", ""), "json": (": ", '"')}[kind]
    pairs = [f"{quote}f{n}{quote}{sign}{item}" for n, item in enumerate(items)]
    return random.choice(("{{{}}}", "{{ {} }}")).format(", ".join(pairs))


def yaml_of(random: Random) -> str:
    """Return a mapping in YAML."""
    anchors: list[tuple[str, bool]] = []
    lines = block(random, 0, 3, anchors)
    head = ["# the file", ""] if random.random() < 0.3 else []
    return "\n".join([*head, *lines]) + random.choice(("\n", "\n", ""))


def block(
    random: Random, indent: int, depth: int, anchors: list[tuple[str, bool]]
) -> list[str]:
    """Return the lines of a mapping."""
    pad, lines = " " * indent, []
    maps = [name for name, is_map in anchors if is_map]
    if maps and random.random() < 0.4:
        lines.append(f"{pad}<<: *{random.choice(maps)}{comment(random)}")
    for n in range(random.randint(1, 4)):
        if random.random() < 0.2:
            lines += [f"{pad}# above {random.randrange(1000)}"]
        elif random.random() < 0.1:
            lines += ["", f"{pad}# apart", ""]
        anchor = ""
        name = f"a{random.randrange(10**9)}"  # the name is not used again
        what = random.random()
        if random.random() < 0.2:
            anchor = f" &{name}"
        if depth and what < 0.2:
            lines.append(f"{pad}k{n}:{anchor}{comment(random)}")
            lines += block(random, indent + 2, depth - 1, anchors)
            anchors += [(name, True)] if anchor else []
        elif depth and what < 0.4:
            lines.append(f"{pad}k{n}:{anchor}{comment(random)}")
            lines += items(random, indent + random.choice((0, 2)), depth - 1, anchors)
            anchors += [(name, False)] if anchor else []
        elif what < 0.5:
            style = random.choice(("|", ">-", "|+", ">"))
            lines.append(f"{pad}k{n}:{anchor} {style}{comment(random)}")
            lines += [f"{pad}  text # no", f"{pad}  more"]
            anchors += [(name, False)] if anchor else []
        elif anchors and what < 0.6:
            lines.append(f"{pad}k{n}: *{random.choice(anchors)[0]}{comment(random)}")
        else:
            lines.append(
                f"{pad}k{n}:{anchor} {flow(random, 'yaml', 2)}{comment(random)}"
            )
            anchors += [(name, False)] if anchor else []
    return lines


def items(
    random: Random, indent: int, depth: int, anchors: list[tuple[str, bool]]
) -> list[str]:
    """Return the lines of a list."""
    pad, lines = " " * indent, []
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.2:
            lines.append(f"{pad}# item {random.randrange(1000)}")
        if depth and random.random() < 0.3:
            first, *rest = block(random, indent + 2, 0, [])
            if first.strip() and not first.strip().startswith("#"):
                lines += [f"{pad}- {first.strip()}", *rest]
                continue
        lines.append(f"{pad}- {flow(random, 'yaml', 2)}{comment(random)}")
    return lines


def toml_of(random: Random) -> str:
    """Return tables in TOML."""
    lines = pairs(random, random.randrange(3))
    for n in range(random.randrange(4)):
        lines += [""] * random.randrange(2)
        if random.random() < 0.3:
            lines.append(f"# table {random.randrange(1000)}")
        if random.random() < 0.3:
            for _ in range(random.randint(1, 3)):
                lines += [f"[[t{n}]]{comment(random)}", *pairs(random, 2)]
        else:
            name = random.choice((f"t{n}", f"t{n}.u", f"t{n}.u"))
            lines += [f"[{name}]{comment(random)}", *pairs(random, 2)]
    return "\n".join(lines) + random.choice(("\n", "\n", ""))


def pairs(random: Random, count: int) -> list[str]:
    lines = []
    for n in range(count):
        if random.random() < 0.2:
            lines.append(f"# above {random.randrange(1000)}")
        key = random.choice((f"k{n}", f"k{n}", f"k{n}.d"))
        value = flow(random, "toml", 2)
        if random.random() < 0.15:
            value = f"[\n  {value},{comment(random)}\n  1\n]"
        lines.append(f"{key} = {value}{comment(random)}")
    return lines


def json_of(random: Random) -> str:
    parts = [f'"k{n}": {flow(random, "json", 3)}' for n in range(random.randint(1, 4))]
    form = random.choice(("{{{}}}", "{{\n  {}\n}}\n"))
    return form.format((",\n  " if "\n" in form else ", ").join(parts))


# ----------------------------------------------------------------------------- edits


def nodes(
    tree: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, tree
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from nodes(value, (*path, key))


def edited(random: Random, tree: Any, kind: str) -> Any:
    """Return a tree after a few edits; it shares what they do not concern."""
    values = [v for v in VALUES if kind != "json" or v != ""]
    for _ in range(random.choice((1, 1, 2, 3))):
        found = [*nodes(tree)]
        path, node = random.choice(found)
        what = random.choice(("set", "add", "delete", "rename", "move"))
        if what == "add" and isinstance(node, dict):
            tree = put(
                tree, (*path, f"new{random.randrange(9)}"), random.choice(values)
            )
        elif what == "add" and isinstance(node, list):
            at = random.randint(0, len(node))
            tree = put(tree, path, [*node[:at], random.choice(values), *node[at:]])
        elif path and what == "set":
            tree = put(tree, path, random.choice(values))
        elif path and what == "delete":
            tree = without(tree, path)
        elif path and what == "rename" and isinstance(path[-1], str):
            above = lw.KeyPath.parse("".join(f"[{k!r}]" for k in path[:-1]))(tree)
            tree = put(tree, path[:-1], {
                "renamed" if k == path[-1] else k: v for k, v in above.items()
            })  # fmt: skip
        elif path and what == "move":
            tree = put(without(tree, path), ("moved",), node)
    return tree


def put(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = tree.copy()
    key = path[0]
    below = made.get(key) if isinstance(made, dict) else made[key]
    made[key] = put(below, path[1:], value)
    return made


def without(tree: Any, path: tuple[Any, ...]) -> Any:
    made = tree.copy()
    if len(path) == 1:
        del made[path[0]]
    else:
        made[path[0]] = without(made[path[0]], path[1:])
    return made


# ------------------------------------------------------------------------ interrupts


class Interrupted(BaseException):
    """What a signal handler raises."""


def interrupt(one: Round) -> None:
    """Interrupt an edit in place: the file is the old or the new one, alone."""
    if not hasattr(signal, "setitimer"):
        return

    def stop(*_: Any) -> None:
        raise Interrupted

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.json")
        before = signal.signal(signal.SIGVTALRM, stop)
        try:
            for _ in range(20):
                file.write_text('{"a": 1, "b": [1, 2]}\n')
                try:
                    signal.setitimer(signal.ITIMER_VIRTUAL, one.random.random() * 0.004)
                    main(["set", str(file), "a=2", "-i"])
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                except Interrupted:
                    pass
                except AttributeError as error:  # of a `finally` of argparse
                    one.holds(repr(error), isinstance(error.__context__, Interrupted))
                finally:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                found = file.read_text().replace('"a": 2', '"a": 1')
                one.same("the file", '{"a": 1, "b": [1, 2]}\n', found)
                one.same(
                    "beside it", ["a.json"], [p.name for p in Path(folder).iterdir()]
                )
        finally:
            signal.signal(signal.SIGVTALRM, before)
