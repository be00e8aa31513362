"""Draw the pictures of the README and of the page on showing trees.

Usage: python docs/examples/picture.py [FOLDER]
"""

import re
import sys
from pathlib import Path

from leafwise import show


STATIC = Path(__file__).parents[1] / "_static"
CONFIG = {
    "layers": [{"width": 64}, {"width": 32}],
    "optim": {"betas": (0.9, 0.99), "lr": 0.1},
}
LAYER = {"width": 64, "activation": "relu"}
BLOCKS = [{"w": float(n), "b": 0.5} for n in range(12)]
MODEL = {"embed": LAYER, "blocks": BLOCKS, "head": LAYER}
DARK = re.compile(r"@media \(prefers-color-scheme:dark\)\{(.*)\}</style>")


def draw(folder: Path) -> None:
    """Write the files: that of the README once for light pages, once for dark ones."""
    drawn = show.to_svg(CONFIG)
    light = DARK.sub("</style>", drawn)
    dark = DARK.sub(r"\1</style>", drawn)
    (folder / "tree.svg").write_text(light, encoding="utf-8")
    (folder / "tree-dark.svg").write_text(dark, encoding="utf-8")
    (folder / "model.svg").write_text(show.to_svg(MODEL), encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else STATIC)
