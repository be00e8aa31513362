"""Trees with texts that pages and terminals must not interpret."""

from hypothesis import strategies as st

import leafwise as lw
from helpers import random_trees
from leafwise import nn


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "<!-- --><![CDATA[ ]]> &amp; &lt; &#0;",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "</code></li></ul></details></div>",
    "a\x00b\x1b[31mc\r\n\x7f\x85\ufffe",
    "\u202eevil\u202c \u2066x\u2069 \u200b",
    "\ud800 \U0001f600 \u0645\u0631\u062d\u0628\u0627",
    "http://example.org/x.js",
    "学習率",
    "x" * 10_000,
]


class Broken:
    def __repr__(self):
        raise ValueError("no")


class Loud:
    def __repr__(self):
        return "<img src=http://x onerror=alert(1)>" * 3


Named = type("</span><script>\x1b", (), {})
Bad = lw.dataclass(type("<b onclick=1>\x1b", (), {"__annotations__": {"x": "int"}}))
leaves = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=20),
    st.builds(Broken),
    st.builds(Loud),
    st.builds(Named),
    st.binary(max_size=5),
    st.complex_numbers(),
)


def nodes(children):
    """Return a strategy for nodes whose keys and tags are such texts."""
    keys = st.sampled_from(HOSTILE) | st.text(max_size=9) | st.integers()
    tags = st.sampled_from(HOSTILE)
    return st.one_of(
        st.dictionaries(keys, children, max_size=4),
        st.lists(children, max_size=4),
        st.builds(random_trees.Point, children, children),
        st.builds(Bad, children),
        st.builds(random_trees.Layer, children, children, tags),
        st.builds(lambda x: nn.Param(x, note="</summary>"), children),
        st.builds(lambda x: nn.State({"<i>": x}), children),
        st.builds(lambda tag, x: random_trees.Box(x, tag=tag), tags, children),
    )
