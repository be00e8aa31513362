import leafwise as lw
import texts


@texts.rules.dataclass
class State:
    topic: str
    draft: str
    language: str = lw.static(default="en")


if __name__ == "__main__":
    state = State(topic="dna", draft="short")
    print(texts.rules.tree_map(str.upper, state))
    print(lw.tree_map(str.upper, state, namespace="texts"))
    print(lw.explain_leaf(state))
