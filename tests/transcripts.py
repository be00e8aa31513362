"""Transcripts: commands with what they print, run again and compared."""

import contextlib
import io
import os
import re
import shlex
import sys
from unittest import mock

from leafwise.cli import main


COMMAND = re.compile(r"^\$ leafwise ", re.MULTILINE)


def commands(text):
    """Yield each command line of a transcript, and what it shows."""
    for part in COMMAND.split(text)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown.rstrip("\n")


def output_of(line):
    """Run a command line; return what it prints, and its status if that is not 0."""
    out, err = io.StringIO(), io.StringIO()
    no_colour = mock.patch.dict(os.environ, {"NO_COLOR": "1"})
    called = mock.patch.object(sys, "argv", ["leafwise"])
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with no_colour, called, streams[0], streams[1]:
        status = main(shlex.split(line))
    told = f"[exit status {status}]\n" if status else ""
    return f"{out.getvalue()}{err.getvalue()}{told}".rstrip("\n")
