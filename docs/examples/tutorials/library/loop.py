import texts
from feedback import extend
from state import State


print(texts.repeat(extend, State("dna", "a page"), times=2).draft)


def broken(state):
    return State(state.topic, (state.draft,))


try:
    texts.repeat(broken, State("dna", "a page"), times=1)
except TypeError as error:
    print(error)
