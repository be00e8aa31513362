"""What is read and written where the locale, the terminal or the file is not UTF-8."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from leafwise.io.formats import Document, FormatError, dump, load


pytestmark = pytest.mark.needs("processes")


TEXT = "Zürich € 😀"
FILES = {
    "json": f'{{"name": "{TEXT}", "clé": 1}}',
    "yaml": f"name: {TEXT}\nclé: 1\n",
    "toml": f'name = "{TEXT}"\n"clé" = 1\n',
}
POSIX = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PLACES = [POSIX, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"},
          {"PYTHONIOENCODING": "utf-16"}]  # fmt: skip
EACH_WITH_EACH = pytest.mark.parametrize(
    ("kind", "env"),
    [  # each place with one format, each format in one place; the others are slow
        pytest.param(
            *(kind, env),
            id=f"{kind}-{env}",
            marks=() if kind == "json" or env is POSIX else pytest.mark.slow,
        )
        for kind in FILES
        for env in PLACES
    ],
)


def run(*arguments, env=None, **options):
    """Run the command as a user does; return status and both outputs as bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "leafwise", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **(env or {})},
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def shown_on_a_terminal(*arguments, env):
    """Return the bytes that the command writes on a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "leafwise", *map(str, arguments)],
        stdout=theirs,
        env={**os.environ, "NO_COLOR": "1", **env},
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 1 << 16):
            parts.append(part)
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    assert child.wait() == 0
    return b"".join(parts).replace(b"\r\n", b"\n")


@pytest.fixture
def files(tmp_path):
    """Return a function from a format to a file of it."""
    for kind, text in FILES.items():
        (tmp_path / f"a.{kind}").write_text(text, encoding="utf-8")
    return lambda kind: tmp_path / f"a.{kind}"


@EACH_WITH_EACH
def test_pipes_get_utf_8_whatever_the_locale(files, kind, env):
    """What is written is the file with its change, and no escape."""
    status, out, err = run("set", files(kind), f"name={TEXT}!", env=env)
    assert (status, err) == (0, b"")
    assert load(out.decode(), kind).tree == {"name": f"{TEXT}!", "clé": 1}
    assert f"{TEXT}!" in out.decode()
    status, out, err = run("get", files(kind), "clé", env=env)
    assert (status, out, err) == (0, b"1\n", b"")


@pytest.mark.parametrize("env", PLACES[:3], ids=str)
@pytest.mark.parametrize("kind", FILES)
def test_terminals_get_escapes_of_the_format(files, kind, env):
    """What a terminal cannot show is escaped so that the format reads it back."""
    charset = env.get("PYTHONIOENCODING", "ascii")
    out = shown_on_a_terminal("set", files(kind), "clé=2", env=env).decode(charset)
    assert load(out, kind).tree == {"name": TEXT, "clé": 2}
    assert ("Zürich" in out) == (charset == "cp1252" and kind != "yaml")


@pytest.mark.slow
def test_terminals_show_trees_with_escapes(files):
    """As Python writes them; branches are made of what the terminal has."""
    out = shown_on_a_terminal("show", files("json"), env={"PYTHONIOENCODING": "ascii"})
    assert out.decode("ascii").splitlines() == [
        "dict",
        r"|-- 'cl\xe9': 1",
        r"`-- 'name': 'Z\xfcrich \u20ac \U0001f600'",
    ]
    out = shown_on_a_terminal("show", files("json"), env={"PYTHONIOENCODING": "utf-8"})
    assert out.decode().splitlines()[1:] == ["├── 'clé': 1", f"└── 'name': '{TEXT}'"]


@EACH_WITH_EACH
def test_the_standard_input_is_utf_8_whatever_the_locale(kind, env):
    """With or without a byte order mark."""
    for mark in (b"", b"\xef\xbb\xbf"):
        data = mark + FILES[kind].encode()
        told = run("get", "-", "name", "--format", kind, input=data, env=env)
        assert told == (0, f"{TEXT}\n".encode(), b"")


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("kind", FILES)
def test_files_in_utf_16_and_utf_32(files, kind, charset):
    """Are told by their first bytes; what is written is UTF-8."""
    path = files(kind)
    path.write_bytes(FILES[kind].encode(charset))
    assert run("get", path, "name") == (0, f"{TEXT}\n".encode(), b"")


@pytest.mark.parametrize("kind", FILES)
def test_windows_line_ends(files, kind):
    """Are read as line ends, and written as those of this system."""
    path = files(kind)
    path.write_bytes(FILES[kind].replace("\n", "\r\n").encode())
    status, out, err = run("set", path, "clé=2")
    assert (status, err) == (0, b"")
    assert out.decode() == f"{FILES[kind].replace('1', '2').rstrip()}\n"


def test_lone_surrogates():
    """JSON escapes them; YAML and TOML have no form for them, which names the place."""
    tree = {"a": ["x\ud800"]}
    text = dump(Document(tree, "json"))
    assert r'"x\ud800"' in text
    assert json.loads(text.encode()) == tree
    for kind in ("yaml", "toml"):
        with pytest.raises(FormatError) as error:
            dump(Document(tree, kind))
        assert str(error.value) == (
            f"cannot be written as {kind.upper()}: the value at ['a'][0] has a lone "
            "surrogate"
        )
        with pytest.raises(FormatError, match=r"the key at \['\\ud800'\] has a lone"):
            dump(Document({"\ud800": 1}, kind))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "text", [TEXT, "a\nb\x85c", "\x85", "a\u2028b\nc", "\x7f", "\ufeff", "a\r\nb", "=",
             "é\nü\n", "€\\u20ac", "\U0010ffff", "<<"]
)  # fmt: skip
def test_text_comes_back_from_every_encoding(kind, encoding, text):
    """As a value, as a key, in a list; what a format takes for a line end, too."""
    tree = {"k": text, text: [text, {text: "x"}]}
    written = dump(Document(tree, kind), encoding=encoding)
    assert load(written.encode(encoding).decode(encoding), kind).tree == tree
    if kind == "toml":
        assert tomllib.loads(written) == tree


# --------------------------------------------------------------------- closed streams


@pytest.mark.skipif(os.name != "posix", reason="closes streams by their number")
@pytest.mark.parametrize(
    ("arguments", "closed", "told"),
    [
        ("{}", ">&-", "leafwise: there is no standard output to write to\n"),
        ("get - x --format json", "<&-", "-: there is no standard input"),
        ("{}.none", "2>&-", ""),
        ("{}.none", "2>/dev/full", ""),
        ("{}", ">/dev/full", "cannot write: No space left on device"),
    ],
)
def test_streams_that_are_closed_or_full(files, arguments, closed, told):
    """Status 2, and a line where it can be written; never a traceback."""
    if "/dev/full" in closed and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    command = f"{sys.executable} -m leafwise {arguments.format(files('json'))} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") <= 1
    assert told in done.stderr
