import texts
from state import State


def introduce(state):
    """A program: it takes a tree of texts, and returns one."""
    line = texts.fill("{}: {}", state.topic, state.draft)
    return {"title": state.topic, "text": line}


print(introduce(State("dna", "a spiral")))
columns = State(topic=["dna", "rna"], draft=["a spiral", "a copy"])
print(texts.batch(introduce)(columns))
