"""Files that are replaced as a whole: never is there a part of the new content.

Owns the temporary file, the order in which things reach the disk, and what is kept of
the file that was there. Knows nothing of what is written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any


__all__ = ["Replacement", "replace_file"]


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
    options = {"encoding": encoding, "newline": ""} if text else {}
    new = Replacement(path)
    try:
        yield new.open("" if text else "b", **options)
        new.finish()
    except BaseException:
        new.abandon()
        raise


class Replacement:
    """The new content of a file, to be finished or abandoned.

    For a caller that calls `open` and `finish` in one `try` statement, and `abandon` if
    that raises, an exception of a signal handler leaves nothing behind, wherever it is
    raised. A context manager in Python cannot promise this: its `__exit__` is not
    called if the exception is raised in its `__enter__`.

    Args:
        path: The file to replace or to create.

    Raises:
        OSError: The file may not be written to.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any]) -> None:
        self._given = os.fsdecode(path)
        self._file: IO[Any] | None = None
        with self._named():
            self._target = os.path.realpath(self._given)
            self._old = _status(self._target)
        folder, name = os.path.split(self._target)
        # a short name: the file's own may be as long as the system allows
        name = f".{name[:32]}.{os.urandom(6).hex()}.tmp"
        self._temporary: str | None = os.path.join(folder, name)
        if self._old is not None and not stat.S_ISREG(self._old.st_mode):
            self._temporary = None  # a device, which is written to

    def open(self, mode: str, **options: Any) -> IO[Any]:
        """Return a new file to write to, or the device itself.

        Not by `tempfile`, whose files only their owner may read: a new file is to have
        the permissions that the umask leaves it. The opener is no function in Python,
        in which a signal handler could raise an exception between two instructions.
        """
        rights = 0o666 if self._old is None else 0o600
        mode = f"w{mode}" if self._temporary is None else f"x+{mode}"
        with self._named():
            try:
                self._file = open(  # noqa: SIM115  # closed by the other methods
                    self._temporary or self._given,
                    mode,
                    opener=partial(os.open, mode=rights),
                    **options,
                )
            except OSError as error:
                if self._temporary is not None:
                    folder = os.path.dirname(self._temporary)
                    error.strerror = (
                        f"{error.strerror} (for a temporary file in {folder})"
                    )
                raise
            return self._file

    def finish(self) -> None:
        """Bring the content to the disk, and give the file its name."""
        assert self._file is not None
        with self._named():
            if self._temporary is None:
                self._file.close()
                return
            self._file.flush()
            if self._old is not None:
                with contextlib.suppress(OSError):
                    if hasattr(os, "fchown"):
                        os.fchown(
                            self._file.fileno(), self._old.st_uid, self._old.st_gid
                        )
                with contextlib.suppress(OSError):
                    os.chmod(self._temporary, stat.S_IMODE(self._old.st_mode))
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._temporary, self._target)

    def abandon(self) -> None:
        """Close the file, and remove it unless it has its name already."""
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()
        with contextlib.suppress(OSError):
            if self._temporary is not None:
                os.unlink(self._temporary)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Make errors of the operating system name the requested file."""
        try:
            yield
        except OSError as error:
            error.filename, error.filename2 = self._given, None
            raise


def _status(target: str) -> os.stat_result | None:
    """Return the `stat` result of a file that may be written to; None for no file.

    Raises:
        PermissionError: The file may not be written to. A rename would not mind.
    """
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(target)
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
        return found
    return None
