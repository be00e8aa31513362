"""Replace a file as a whole, so that no other process sees a part of the new content.

The content goes to a temporary file, is flushed to disk and renamed; the mode and the
owner of the old file are kept.
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

from .._text import typed_repr


__all__ = ["replace_file"]


def decoded_path(path: Any, tree: Any, call: str) -> str:
    """Return a path as a string.

    Args:
        path: The path.
        tree: The next argument, which may be the path instead.
        call: How the function is called.

    Raises:
        TypeError: It is not a path.
    """
    path_types = (str, bytes, os.PathLike)
    if isinstance(path, path_types):
        return os.fsdecode(path)
    hint = ""
    if isinstance(tree, path_types):
        hint = f"; the arguments are swapped: leafwise.{call}"
    raise TypeError(
        f"the path must be a str, bytes or os.PathLike, got {typed_repr(path)}{hint}"
    )


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
        ...     with lw.files.replace_file(name, text=True) as file:
        ...         _ = file.write("kept")
        ...     try:
        ...         with lw.files.replace_file(name, text=True) as file:
        ...             _ = file.write("half of ")
        ...             raise KeyboardInterrupt
        ...     except KeyboardInterrupt:
        ...         print(os.listdir(folder), os.path.getsize(name))
        ['notes.txt'] 4
    """
    path_text = os.fsdecode(path)
    options: dict[str, Any] = {}
    mode = "b"
    if text:
        options = {"encoding": encoding, "newline": ""}
        mode = ""
    with _errors_of(path_text):
        target = os.path.realpath(path_text)
        old = os.stat(target) if os.path.exists(target) else None
        if old is not None and not os.access(target, os.W_OK):  # to rename is allowed
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if old is not None and not stat.S_ISREG(old.st_mode):  # a device
        with _errors_of(path_text), open(path_text, f"w{mode}", **options) as device:
            yield device
        return
    folder, name = os.path.split(target)
    # a short name: the file's own may be as long as the system allows
    temporary = os.path.join(folder, f".{name[:32]}.{os.urandom(6).hex()}.tmp")
    # not by `tempfile`, whose files only their owner may read; and by no opener in
    # Python, in which a signal handler could raise when the file is open already
    opener = partial(os.open, mode=0o666 if old is None else 0o600)
    file: IO[Any] | None = None
    try:
        with _errors_of(path_text):
            file = open(temporary, f"x+{mode}", opener=opener, **options)  # noqa: SIM115
        yield file
        with _errors_of(path_text):
            file.flush()
            if old is not None:
                with contextlib.suppress(OSError, AttributeError):  # not on Windows
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                with contextlib.suppress(OSError):
                    os.chmod(temporary, stat.S_IMODE(old.st_mode))
            os.fsync(file.fileno())
            file.close()
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            if file is not None:
                file.close()
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Make errors of the operating system name the requested file."""
    try:
        yield
    except OSError as error:
        error.filename = path
        error.filename2 = None
        raise
