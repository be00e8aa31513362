"""Understanding PAX: "Pytree" and "A simple PAX module"."""

import leafwise as lw


TREE = [(1, 2), "123", {"1": 1, "2": [4, 5]}]


def test_leaves_and_treedef_of_plain_containers():
    """Strings are leaves; the treedef prints the nesting."""
    leaves, treedef = lw.tree_flatten(TREE)
    assert leaves == [1, 2, "123", 1, 4, 5]
    assert repr(treedef) == "PyTreeDef([(*, *), *, {'1': *, '2': [*, *]}])"


def test_unflatten_by_keyword():
    """The two arguments of `tree_unflatten` have the names that the text uses."""
    leaves, treedef = lw.tree_flatten(TREE)
    assert lw.tree_unflatten(treedef=treedef, leaves=leaves) == TREE


@lw.register_pytree_node_class
class Module:
    """A module that keeps a list as a subtree and a flag in its structure."""

    def __init__(self, mylist):
        self.mylist = mylist
        self.is_training = True

    def tree_flatten(self):
        return [self.mylist], {"is_training": self.is_training}

    @classmethod
    def tree_unflatten(cls, aux_info, children):
        new = cls.__new__(cls)
        new.mylist = children[0]
        new.is_training = aux_info["is_training"]
        return new

    def __str__(self):
        name = type(self).__name__
        return f"{name} :: mylist={self.mylist}  is_training={self.is_training}"


def test_registration_returns_the_class():
    """The function can be used as a decorator."""
    assert isinstance(Module, type)
    assert lw.is_registered(Module)


def test_a_module_is_a_tree():
    """The list is the subtree; the flag is seen in the treedef."""
    leaves, treedef = lw.tree_flatten(Module([1, 2, 3]))
    assert leaves == [1, 2, 3]
    text = "PyTreeDef(CustomNode(Module[{'is_training': True}], [[*, *, *]]))"
    assert repr(treedef) == text
    rebuilt = lw.tree_unflatten(treedef, leaves)
    assert str(rebuilt) == "Module :: mylist=[1, 2, 3]  is_training=True"


def test_unhashable_aux_data_is_compared_and_hashed():
    """A dict as aux data is no obstacle to equality or hashing."""
    one = Module([1])
    other = Module([2])
    assert lw.tree_structure(one) == lw.tree_structure(other)
    assert hash(lw.tree_structure(one)) == hash(lw.tree_structure(other))
    other.is_training = False
    assert lw.tree_structure(one) != lw.tree_structure(other)
