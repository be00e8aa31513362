"""Files that are replaced as a whole: never is there a part of the new content.

Owns the temporary file, the order in which things reach the disk, and what is kept of
the file that was there. Knows nothing of what is written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final


__all__ = ["replace_file"]

_ANYONE: Final = 0o666
"""What a new file may allow; the process's umask takes from it, as from any file."""
_OWNER: Final = 0o600
"""What a file allows until it gets the permissions of the one whose place it takes."""
_TRIES: Final = 100


@contextmanager
def replace_file(
    path: str | bytes | os.PathLike[Any], *, text: bool = False, encoding: str = "utf-8"
) -> Iterator[IO[Any]]:
    r"""Open a file for writing; it replaces the old file when the block ends.

    The content is written to a temporary file in the same folder. When the block ends,
    the temporary file is flushed to disk and renamed. No other process sees a partial
    file, and after a crash the file has either the old content or the new. If the block
    raises or something fails, the temporary file is removed, and the old file is
    unchanged.

    The permissions of the old file are kept, and also its owner, if the process may
    change it. Other hard links to the old file keep the old content. For a symbolic
    link, the target is replaced. Devices and pipes cannot be replaced; they are written
    to directly.

    Args:
        path: The file to replace or to create.
        text: Whether to open it as text, with `\n` line endings on all systems.
        encoding: The encoding of the text.

    Yields:
        The file to write to. Unless it is a device, it can seek and be read from, and
        its `name` is the path of the temporary file.

    Raises:
        OSError: The file cannot be written; `filename` is `path`.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "notes.txt")
        ...     with lw.io.replace_file(name, text=True) as file:
        ...         _ = file.write("kept")
        ...     try:
        ...         with lw.io.replace_file(name, text=True) as file:
        ...             _ = file.write("half of ")
        ...             raise KeyboardInterrupt
        ...     except KeyboardInterrupt:
        ...         print(os.listdir(folder), os.path.getsize(name))
        ['notes.txt'] 4
    """
    given = os.fsdecode(path)
    kind: dict[str, Any] = (
        {"mode": "w+", "encoding": encoding, "newline": ""} if text else {"mode": "w+b"}
    )
    with _named(given):
        target = os.path.realpath(given)
        old = _status(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _opened(
            given, {**kind, "mode": kind["mode"].replace("+", "")}, given
        ) as file:
            yield file
        return
    number, temporary = _temporary(given, target, old)
    try:
        with _opened(temporary, kind, given, lambda *_: number) as file:
            yield file
            with _named(given):
                file.flush()
                if old is not None:
                    _keep(number, temporary, old)
                os.fsync(number)
        with _named(given):
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(target))


def _status(target: str) -> os.stat_result | None:
    """Return the `stat` result of a file that may be written to; None for no file.

    Raises:
        PermissionError: The file may not be written to. A rename would not mind.
    """
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return found


@contextmanager
def _named(given: str) -> Iterator[None]:
    """Make errors of the operating system name the requested file."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = given, None
        raise


@contextmanager
def _opened(
    path: str, kind: dict[str, Any], given: str, opener: Any = None
) -> Iterator[IO[Any]]:
    """Open a file, and close it once whatever happens.

    Closing writes what is still to be written, which may fail as writing does.
    """
    with _named(given):
        file = open(path, opener=opener, **kind)  # noqa: SIM115  # closed below
    try:
        yield file
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        raise
    with _named(given):
        file.close()


def _temporary(given: str, target: str, old: os.stat_result | None) -> tuple[int, str]:
    """Create an empty file next to another one; return its descriptor and its path.

    Not by `tempfile`, whose files only their owner may read: where there was no file,
    the new one is to have the permissions that the umask leaves it, which cannot be
    asked for without changing it for all threads.

    Raises:
        OSError: The folder is not there, or allows no new file.
    """
    folder, name = os.path.split(target)
    mode = _ANYONE if old is None else _OWNER
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0)
    for _ in range(_TRIES):
        # a short name: the file's own may be as long as the system allows
        path = os.path.join(folder, f".{name[:32]}.{os.urandom(6).hex()}.tmp")
        try:
            return os.open(path, flags, mode), path
        except FileExistsError:
            continue
        except OSError as error:
            why = f"{error.strerror} (for a temporary file in {folder})"
            raise type(error)(error.errno, why, given) from None
    raise FileExistsError(
        errno.EEXIST, f"No free name for a temporary file in {folder}", given
    )


def _keep(number: int, temporary: str, old: os.stat_result) -> None:
    """Give a file the owner and the permissions of another one, as far as allowed."""
    if sys.platform != "win32":
        new = os.fstat(number)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(number, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError):
        os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: str) -> None:
    """Bring a rename to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows has no number for a folder
        return
    with contextlib.suppress(OSError):
        number = os.open(folder or os.curdir, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
