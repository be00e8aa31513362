"""autoform's page on optree pytrees: all that concerns trees."""

import pytest

import leafwise as lw


space = lw.namespace("autoform")


@space.dataclass
class State:
    topic: str
    draft: str


def test_without_registration_an_object_is_opaque():
    """Outside the namespace the object is one leaf; a str is one anywhere."""
    state = State(topic="dna", draft="short")
    assert lw.tree_leaves(state) == [state]
    assert space.tree_leaves(("text", state)) == ["text", "dna", "short"]


@pytest.mark.parametrize("bound", [True, False])
def test_mapping_in_the_reserved_namespace(bound):
    """The bound function and the keyword do the same."""
    state = State(topic="dna", draft="short")
    if bound:
        upper = space.tree_map(str.upper, state)
    else:
        upper = lw.tree_map(str.upper, state, namespace="autoform")
    assert upper == State(topic="DNA", draft="SHORT")


@space.dataclass
class F32Array:
    values: tuple[float, ...]
    shape: tuple[int, ...] = lw.field(pytree_node=False)
    dtype: str = lw.field(default="float32", pytree_node=False)


def test_static_metadata_fields():
    """Static fields belong to the structure and survive a map."""
    array = F32Array(values=(1.0, 2.0), shape=(2,))
    scaled = space.tree_map(lambda x: x * 10, array)
    assert scaled == F32Array(values=(10.0, 20.0), shape=(2,))
    treedef = space.tree_structure(array)
    text = "PyTreeDef(CustomNode(F32Array[((2,), 'float32')], [(*, *)]))"
    assert repr(treedef) == text
    other = space.tree_structure(F32Array(values=(1.0, 2.0), shape=(1, 2)))
    assert treedef != other


class ManualState:
    """No dataclass: taken apart by two functions."""

    def __init__(self, topic, draft):
        self.topic = topic
        self.draft = draft


def flatten_state(state):
    return (state.topic, state.draft), None


def unflatten_state(metadata, children):
    topic, draft = children
    return ManualState(topic=topic, draft=draft)


lw.register_pytree_node(
    ManualState, flatten_state, unflatten_state, namespace="autoform"
)


def test_manual_flatten_and_unflatten():
    """A class registered by functions maps like a dataclass."""
    upper = space.tree_map(str.upper, ManualState(topic="dna", draft="short"))
    assert (upper.topic, upper.draft) == ("DNA", "SHORT")


@space.dataclass
class Explainer:
    instruction: str
    style: str

    def __call__(self, topic):
        return f"{self.instruction}\nstyle: {self.style}\ntopic: {topic}"


def test_an_object_with_methods():
    """The fields are leaves, the methods work on the mapped object."""
    explainer = Explainer(instruction="explain", style="brief")
    assert space.tree_leaves(explainer) == ["explain", "brief"]
    loud = space.tree_map(str.upper, explainer)
    assert loud("dna") == "EXPLAIN\nstyle: BRIEF\ntopic: dna"
