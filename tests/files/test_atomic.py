"""Files that are replaced as a whole: what is kept, and what is left of a failure."""

import errno
import os
import stat
import sys
import threading

import pytest

from leafwise.files import replace_file


posix = pytest.mark.skipif(
    os.name != "posix" or sys.platform == "emscripten", reason="files of POSIX"
)


def write(path, data=b"new"):
    with replace_file(path) as file:
        file.write(data)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(b"old")
    return path


def only(path):
    """Return whether a file is all that its folder has."""
    return [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "kind", [str, os.fsencode, pytest.param(lambda path: path, id="Path")]
)
def test_a_file_is_made_and_replaced(tmp_path, kind):
    path = tmp_path / "a b\u00e9.bin"
    for data in (b"", b"one", b"two" * 100_000, b"3"):
        write(kind(path), data)
        assert path.read_bytes() == data
        assert only(path)


def test_the_old_content_is_there_until_the_end(old):
    with replace_file(old) as file:
        file.write(b"new")
        file.flush()
        assert old.read_bytes() == b"old"
        assert file.seek(0) == 0
        assert file.read() == b"new"
    assert old.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_after_an_error_the_old_file_stays(old, error):
    def fail():
        with replace_file(old) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert old.read_bytes() == b"old"
    assert only(old)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_of_the_system_names_the_file(old, monkeypatch, call):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(old)
    assert caught.value.filename == str(old)
    monkeypatch.undo()
    assert old.read_bytes() == b"old"
    assert only(old)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_devices_are_written_to():
    write(os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(OSError, match=r"No space left.*/dev/full") as caught:
        write("/dev/full")
    assert caught.value.filename == "/dev/full"


@posix
def test_pipes_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=(pipe,))
    writer.start()
    assert pipe.read_bytes() == b"new"
    writer.join()


def test_folders_are_refused(tmp_path):
    with pytest.raises(OSError, match=tmp_path.name):
        write(tmp_path)
    with pytest.raises(FileNotFoundError, match="missing") as caught:
        write(tmp_path / "missing" / "file")
    assert caught.value.filename == str(tmp_path / "missing" / "file")
    assert list(tmp_path.iterdir()) == []


@posix
def test_the_mode_of_the_old_file_is_kept(old):
    for mode in (0o600, 0o640, 0o755, 0o4711):
        old.chmod(mode)
        write(old)
        assert stat.S_IMODE(old.stat().st_mode) == mode


@posix
def test_nobody_else_reads_the_new_content_of_a_private_file(old):
    old.chmod(0o600)
    with replace_file(old):
        (temporary,) = set(old.parent.iterdir()) - {old}
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


@posix
def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    (tmp_path / "usual").touch()
    write(tmp_path / "new")
    modes = {entry.stat().st_mode for entry in tmp_path.iterdir()}
    assert len(modes) == 1


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_the_target_of_a_link_is_replaced(tmp_path, is_there):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "target"
    if is_there:
        target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert only(target)


def test_a_file_that_may_not_be_written_to_is_not_replaced(old, monkeypatch):
    """A rename would not mind."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=old.name):
        write(old)
    monkeypatch.undo()
    assert old.read_bytes() == b"old"


def test_what_cannot_be_opened_leaves_nothing(old):
    with pytest.raises(LookupError), replace_file(old, text=True, encoding="nope"):
        pass
    with pytest.raises(ValueError, match="null"):
        write("a\0b")
    with pytest.raises(TypeError):
        write(3)
    assert only(old)


@pytest.mark.needs("threads")
def test_of_several_writers_one_is_whole(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([number]) * 50_000 for number in range(8)]
    threads = [threading.Thread(target=write, args=(path, c)) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert only(path)
