"""Commands of `leafwise`: run here, and as transcripts show them."""

import contextlib
import io
import os
import re
import shlex
import sys
from unittest import mock

from leafwise.cli import main


COMMAND = re.compile(r"^\$ leafwise ", re.MULTILINE)


def commands_of(transcript):
    """Yield the arguments of each command of a transcript, and the output shown."""
    for part in COMMAND.split(transcript)[1:]:
        arguments, _, output = part.partition("\n")
        yield arguments, output.rstrip("\n")


def output_of(arguments):
    """Run a command; return its output, with the exit status if that is not 0."""
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"NO_COLOR": "1"}))
        stack.enter_context(mock.patch.object(sys, "argv", ["leafwise"]))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        status = main(shlex.split(arguments))
    output = out.getvalue() + err.getvalue()
    if status:
        output += f"[exit status {status}]\n"
    return output.rstrip("\n")
