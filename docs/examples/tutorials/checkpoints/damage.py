from pathlib import Path

import leafwise as lw
from training import Training


content = Path("checkpoint.npz").read_bytes()
Path("half.npz").write_bytes(content[: len(content) // 2])
try:
    lw.load("half.npz")
except lw.errors.FileError as error:
    print(error)
