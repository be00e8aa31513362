import texts
from state import State


def extend(state):
    longer = texts.fill("{} about {}", state.draft, state.topic)
    return State(state.topic, longer)


if __name__ == "__main__":
    result, route_back = texts.pullback(extend, State("dna", "a page"))
    print(result.draft)
    (feedback,) = route_back(State("be more specific", "too terse"))
    print("topic:", feedback.topic)
    print("draft:", feedback.draft)
