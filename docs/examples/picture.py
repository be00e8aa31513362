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

DARK_RULES = re.compile(r"@media \(prefers-color-scheme:dark\)\{(.*)\}</style>")
"""The rules of a picture for dark pages, which are the last ones of its style."""


def draw(folder: Path) -> None:
    """Write the pictures; that of the README once for light and once for dark pages.

    A code host shows pictures on its own background, whatever the reader's system
    prefers, so that the README has to choose the picture.
    """
    config = show.to_svg(CONFIG)
    light = DARK_RULES.sub("</style>", config)
    dark = DARK_RULES.sub(r"\1</style>", config)
    model = show.to_svg(MODEL)
    (folder / "tree.svg").write_text(light, encoding="utf-8")
    (folder / "tree-dark.svg").write_text(dark, encoding="utf-8")
    (folder / "model.svg").write_text(model, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]))
    else:
        draw(STATIC)
