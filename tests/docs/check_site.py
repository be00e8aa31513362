"""What must hold of the built site: links, anchors, sizes, a page for each name.

Usage: python tests/docs/check_site.py FOLDER

Reads the HTML and nothing else: no network is asked.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


LARGEST = 60_000  # bytes of HTML
LARGEST_REFERENCE = 120_000
NEEDED = ("index.html", "search.html", "reference/index.html")


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.anchors = set()
        self.titles = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {
            attributes[key] for key in ("id", "name") if attributes.get(key)
        }
        self.titles += tag == "h1"
        for key in ("href", "src"):
            if attributes.get(key) is not None and tag != "use":
                self.links.append(attributes[key])


def broken(root):
    """Yield what is wrong with the links of a site."""
    pages = {
        path: Page(path.read_text(encoding="utf-8")) for path in root.rglob("*.html")
    }
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            target = target.resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{path.relative_to(root)}: no file for {link}"
            elif parts.fragment and target in pages and path.name != "genindex.html":
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors:
                    yield f"{path.relative_to(root)}: no anchor for {link}"


def too_large(root):
    """Yield the pages that take too long to load."""
    for path in root.rglob("*.html"):
        name = path.relative_to(root).as_posix()
        listing = name.startswith("reference/") or name == "genindex.html"
        most = LARGEST_REFERENCE if listing else LARGEST
        if (size := path.stat().st_size) > most:
            yield f"{name}: {size} bytes, at most {most}"


def missing(root, names):
    """Yield what is not there: files, and names without a page that has an example."""
    for name in NEEDED:
        if not (root / name).is_file():
            yield f"{name} is missing"
    for name, page in names.items():
        path = root / f"{page}.html"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if f'id="{name}"' not in text:
            yield f"{name} has no page"
        elif '<span class="gp">&gt;&gt;&gt; </span>' not in text:
            yield f"the page of {name} has no example"


def wrong(root):
    """Return all that is wrong with a site."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))
    from listing import entries

    names = {entry.name: entry.page for entry in entries()}
    return [*broken(root), *too_large(root), *missing(root, names)]


if __name__ == "__main__":
    faults = wrong(Path(sys.argv[1]).resolve())
    print("\n".join(faults) or "links, sizes and pages are as they should be")
    sys.exit(bool(faults))
