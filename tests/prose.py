"""The prose of pages and docstrings: its sentences, and phrases that read translated.

Owns what counts as prose, and which phrases are to be written otherwise.
"""

import inspect
import re


PHRASES = {
    r"there (?:is|are) none": "there is no ..., it has no ...",
    r"(?<!there )(?:is|are) none\b": "is not a ...",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer|more|less)": "is not a ..., are not ...",
    r"[Ww]hat(?:ever)? is no\b": "anything that is not ...",
    r"\bof ours\b": "of leafwise",
    r"(?:is|are) meant(?! (?:to|for))": "is selected, matches",
    r"\bthe like\b": "similar ones, and so on",
    r"(?:is|are) told\b(?! so| that)": "is described, is listed",
    r"\bcomes? again\b": "recurs, is used again",
    r"(?:is|are) laid (?:over|on)\b": "is merged onto",
    r"\bneeds? no saying\b": "needs no registration, goes without a declaration",
    r"\bsays? itself\b": "the ... is inferred",
    r"\b(?:takes?|taken|taking|took)(?: \w+){0,2} apart\b": "flatten, split",
    r"\bcomes? apart\b": "is flattened",
    r"\b(?:this|that|the) sort\b": "this kind",
    r"\bsuch a one\b": "one",
    r"\bnone given\b": "without one",
    r"\b(?:some|every|any|no)body\b": "someone, a user; everyone; not ...",
    r"\bstands? (?:in|on|at|under|before|after|below|above|beside|there|here)\b"
    r"(?!,? for| its own)": "is in, is at",
    r"\bdifferences? to (?:other|others|jax|optree|torch|dm-tree)": "difference from",
    r"\bby and by\b": "gradually",
    r"\bas it stands\b": "as it is",
    r"\bof before\b": "previous",
    r"\bwhat there is\b": "everything",
    r"\bthe other way round\b": "the other way around",
    r"\banew\b": "again",
    r"\b(?:if nothing is said|if no one says)\b": "by default",
    r"\bsaid to be\b": "declared as",
    r"\b(?:is|are|was|were) mended\b": "is fixed",
    r"\bbrought to the disk\b": "flushed to disk",
    r"\breplaced as a whole\b": "replaced atomically",
    r"\bhanded? over\b": "pass",
    r"\bcomes? and goe?s?\b": "are added and deleted",
    r"\btakes? long\b": "slow",
    r"\bone's own\b": "your own",
    r"\b(?:of every|of the|of any) sort\b": "of any type",
    r"\bmisspelt\b": "misspelled",
    r"\bis the (?:faster|slower) one\b": "is faster, is slower",
}
"""Patterns of phrases that read translated, and what to write instead."""

CODE = re.compile(
    r"^(`{3,}|:{3,}|~{3,}).*?^\1|<!--.*?-->|^---\n.*?^---$", re.DOTALL | re.MULTILINE
)
NO_SENTENCES = re.compile(r"^\s*(?:\||#|:\w|\(.+\)=$).*$", re.MULTILINE)
LISTS = re.compile(r"^\s*(?:[-*]|\d+\.) ", re.MULTILINE)


def of_markdown(text):
    """Return a page without code, with a word for what stands in the line as code."""
    text = CODE.sub("\n\n", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\{[\w:]+\}`([^`<]*)[^`]*`", r"\1", text)
    return re.sub(r"``?[^`]+``?", "it", text)


def of_docstring(text):
    """Return a docstring without its example and without what is code."""
    kept, example = [], False
    for line in text.splitlines():
        example = (example and bool(line.strip())) or line.lstrip().startswith(">>>")
        kept.append("" if example else line)
    return re.sub(r"(?::\w+:)?``?[^`]+``?", "it", "\n".join(kept))


def docstrings(value):
    """Yield the docstring of a function or class, and those of its public members."""
    yield value.__name__, inspect.getdoc(value) or ""
    if inspect.isclass(value) and value.__module__.startswith("leafwise"):
        for name, member in vars(value).items():
            if not name.startswith("_") and not isinstance(member, type):
                text = inspect.getdoc(member) or ""
                if text != inspect.getdoc(type(member)):
                    yield f"{value.__name__}.{name}", text


def translated(text):
    """Yield the phrases of a text that read translated, and what to write instead."""
    flat = " ".join(text.split())
    for pattern, instead in PHRASES.items():
        for found in re.finditer(pattern, flat):
            near = flat[max(found.start() - 40, 0) : found.end() + 30]
            yield f"...{near}...: {found[0]!r}; write: {instead}"


def sentences(page):
    """Return the sentences of a page, as lists of words: no code, tables, headings."""
    text = NO_SENTENCES.sub("\n\n", LISTS.sub("\n\n", of_markdown(page)))
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        flat = " ".join(paragraph.split())
        for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z(\"'*_`]|it\b)", flat):
            words = re.findall(r"[\w'*.=]*\w[\w'*.=]*", one)
            if len(words) > 2:
                found.append(words)
    return found
