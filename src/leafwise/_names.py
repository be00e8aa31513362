"""Where names are that `leafwise` does not have itself, for hints in errors.

The tables are written out, so that an error imports nothing. Tests compare them with
the modules, and with the tables of other libraries in the documentation.
"""

from __future__ import annotations

from typing import Final


# fmt: off
SUBMODULE_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "compat": (
        "STANDINS", "install", "uninstall",
    ),
    "configs": (
        "Tagged", "override", "read", "write",
    ),
    "errors": (
        "CompareError", "CycleError", "EditError", "FileError", "FlattenError",
        "KindError", "LeafwiseError", "NamespaceError", "PathError", "RegistryError",
        "StructureError", "TraceError", "TreeDefError",
    ),
    "files": (
        "load", "register_codec", "replace_file", "save",
    ),
    "integrations": (
        "Status", "adopt", "enable", "register_attrs", "register_mapping",
        "register_model", "register_sequence", "register_struct", "status", "support",
        "treedef_from", "treedef_to",
    ),
    "nn": (
        "All", "Any", "BatchNorm", "BatchStat", "Cache", "Data", "Dict", "Dropout",
        "Everything", "FlatState", "GraphDef", "Intermediate", "Kind", "Linear", "List",
        "Module", "Not", "Nothing", "Object", "OfKind", "OfType", "OptArray",
        "OptState", "OptVariable", "Optimizer", "Param", "PathContains", "PathIn",
        "Perturbation", "Pytree", "RngCount", "RngKey", "RngState", "RngStream", "Rngs",
        "Sequential", "State", "Static", "TraceError", "Variable", "WithTag", "as_pure",
        "capture", "check_pytree", "clone", "data", "dataclass", "diff_state", "eval",
        "eval_shape", "field", "filter_state", "find_duplicates", "freeze",
        "from_flat_state", "gelu", "grad", "graphdef", "is_data", "iter_children",
        "iter_graph", "iter_modules", "jit", "map_state", "merge", "merge_state",
        "name_to_kind", "parameter", "pop", "prefix", "pure", "recursive_map",
        "register_data_type", "register_variable_name", "relu", "remat", "replace",
        "replace_by_pure_dict", "restore_int_paths", "select_kind", "set_attributes",
        "set_metadata", "split", "split_state", "state", "state_value", "static",
        "to_flat_state", "to_pure_dict", "train", "unfreeze", "update", "update_kind",
        "value_and_grad", "variable_type", "vmap", "with_attributes",
    ),
    "registry": (
        "FlattenedIndexKey", "lookup", "namespaces", "register_pytree_with_keys",
        "register_pytree_with_keys_class",
    ),
    "selection": (
        "ArrayDifference", "Change", "FlatReport", "Form", "Place", "Selection",
        "Selector", "SetDifference", "TextDifference", "TreeDiff", "at", "from_flat",
        "selector", "to_flat", "tree_at", "tree_combine", "tree_diff", "tree_filter",
        "tree_labels", "tree_merge", "tree_move", "tree_partition", "tree_rename",
        "tree_update",
    ),
    "show": (
        "SummaryRow", "TreeSummary", "draw", "pformat", "pprint", "to_html",
        "to_mermaid", "to_svg", "tree_summary",
    ),
    "testing": (
        "assert_same_structure", "assert_trees_close", "assert_trees_equal",
        "check_node", "treedefs", "trees", "trees_like",
    ),
    "tree": (
        "all", "all_leaves", "any", "broadcast_common", "broadcast_leaves",
        "broadcast_map", "broadcast_map_with_path", "broadcast_prefix", "children",
        "combine", "concatenate", "diff", "equal", "equality_errors", "flatten",
        "flatten_one_level", "flatten_with_path", "is_leaf", "iter", "leaves",
        "leaves_with_path", "map", "map_", "map_only", "map_shared", "map_with_path",
        "max", "merge", "min", "nbytes", "partition", "paths", "prefix_errors",
        "reduce", "replace_nones", "size", "stack", "structure", "sum", "summary",
        "transpose", "transpose_map", "transpose_map_with_path", "treedef_tuple",
        "unflatten", "unstack", "unzip", "update", "visit", "walk", "zip",
    ),
    "typing": (
        "Difference", "FlattenFunc", "IsLeaf", "Namespace", "NodeType", "OneLevel",
        "PyTree", "Registered", "UnflattenFunc", "Visit",
    ),
}
# fmt: on
"""The public names of each submodule."""

PEER_NAMES: Final[dict[str, str]] = {
    "AutoEntry": "lw.registry.FlattenedIndexKey",
    "Context": "treedef.node_data()",
    "CustomTreeNode": "lw.register_pytree_node_class",
    "DataclassEntry": "lw.GetAttrKey",
    "DumpableContext": "lw.files.register_codec",
    "FlattenFn": "leafwise.typing.FlattenFunc",
    "FlattenedEntry": "lw.registry.FlattenedIndexKey",
    "FromDumpableContextFn": "lw.files.register_codec",
    "GetAttrEntry": "lw.GetAttrKey",
    "GetItemEntry": "lw.DictKey",
    "KeyEntry": (
        "(lw.SequenceKey, lw.DictKey, lw.GetAttrKey, lw.registry.FlattenedIndexKey)"
    ),
    "LeafSpec": "lw.PyTreeDef.leaf()",
    "MAX_RECURSION_DEPTH": "lw.errors.CycleError",
    "MappingEntry": "lw.DictKey",
    "NONE_IS_LEAF": "lw.tree_leaves(tree, none_is_leaf=True)",
    "NONE_IS_NODE": "lw.tree_leaves(tree, none_is_leaf=False)",
    "NamedTupleEntry": "lw.GetAttrKey",
    "PyTreeAccessor": "lw.KeyPath",
    "PyTreeEntry": (
        "(lw.SequenceKey, lw.DictKey, lw.GetAttrKey, lw.registry.FlattenedIndexKey)"
    ),
    "PyTreeKind": "treedef.type",
    "PyTreeSpec": "lw.PyTreeDef",
    "PyTreeTypeVar": "leafwise.typing.PyTree[int]",
    "SequenceEntry": "lw.SequenceKey",
    "StructSequenceEntry": "lw.GetAttrKey",
    "ToDumpableContextFn": "lw.files.register_codec",
    "TreeSpec": "lw.PyTreeDef",
    "UnflattenFn": "leafwise.typing.UnflattenFunc",
    "default_registry": "lw.registry.lookup",
    "dict_insertion_ordered": "lw.namespace('my-lib', dict_order='insertion')",
    "flatten_one_level_with_keys": "lw.tree.flatten_one_level(tree).keys",
    "is_namedtuple": "lw.registry.lookup(type(point)).name == 'namedtuple'",
    "is_namedtuple_class": "lw.registry.lookup(Point).name == 'namedtuple'",
    "is_namedtuple_instance": "lw.registry.lookup(type(point)).name == 'namedtuple'",
    "is_structseq": "lw.registry.lookup(type(time.gmtime())).name == 'structseq'",
    "is_structseq_class": "lw.registry.lookup(time.struct_time).name == 'structseq'",
    "is_structseq_instance": (
        "lw.registry.lookup(type(time.gmtime())).name == 'structseq'"
    ),
    "is_tree_node": "lw.is_registered",
    "key_get": "lw.KeyPath.parse('[0]')(tree)",
    "namedtuple_fields": "Point._fields",
    "pytree": "lw.tree",
    "structseq_fields": (
        "[key.name for key in lw.tree_structure(time.gmtime()).entries()]"
    ),
    "tree_accessors": "lw.tree_paths",
    "tree_all_only": "all(x > 0 for x in lw.tree.iter(tree) if isinstance(x, int))",
    "tree_any_only": "any(x > 0 for x in lw.tree.iter(tree) if isinstance(x, int))",
    "tree_broadcast": "lw.tree_broadcast_prefix",
    "tree_broadcast_map_with_accessor": "lw.tree.broadcast_map_with_path",
    "tree_flatten_with_accessor": "lw.tree_flatten_with_path",
    "tree_map_only_": (
        "lw.tree_map_(lambda x: print(x) if isinstance(x, str) else None, tree)"
    ),
    "tree_map_with_accessor": "lw.tree_map_with_path",
    "tree_map_with_accessor_": "lw.tree_map_with_path(print, tree)",
    "tree_map_with_path_": "lw.tree_map_with_path(print, tree)",
    "tree_reduce_associative": "lw.tree_reduce(max, tree)",
    "tree_transpose_map_with_accessor": "lw.tree.transpose_map_with_path",
    "tree_util": "lw.tree",
    "treedef_children": "treedef.children()",
    "treedef_is_leaf": "treedef.is_leaf(strict=False)",
    "treespec_accessors": "treedef.paths()",
    "treespec_child": "treedef.children()[0]",
    "treespec_children": "treedef.children()",
    "treespec_defaultdict": "lw.PyTreeDef.from_children(defaultdict(int, a=leaf))",
    "treespec_deque": "lw.PyTreeDef.from_children(deque([leaf], 3))",
    "treespec_dict": "lw.PyTreeDef.from_children({'a': leaf})",
    "treespec_dumps": "treedef.to_json()",
    "treespec_entries": "treedef.entries()",
    "treespec_entry": "treedef.entries()[0]",
    "treespec_from_collection": "lw.PyTreeDef.from_children([leaf, (leaf,)])",
    "treespec_frozendict": "lw.register_pytree_node",
    "treespec_is_leaf": "treedef.is_leaf()",
    "treespec_is_one_level": "lw.compat.optree.treespec_is_one_level",
    "treespec_is_prefix": "treedef.is_prefix(treedef)",
    "treespec_is_strict_leaf": "treedef.is_leaf(strict=True)",
    "treespec_is_suffix": "treedef >= treedef",
    "treespec_leaf": "lw.PyTreeDef.leaf()",
    "treespec_list": "lw.PyTreeDef.from_children([leaf])",
    "treespec_loads": "lw.PyTreeDef.from_json(treedef.to_json())",
    "treespec_namedtuple": "lw.PyTreeDef.from_children(Point(leaf, leaf))",
    "treespec_none": "lw.tree_structure(None)",
    "treespec_one_level": "lw.compat.optree.treespec_one_level",
    "treespec_ordereddict": "lw.PyTreeDef.from_children(OrderedDict(a=leaf))",
    "treespec_paths": "treedef.paths()",
    "treespec_pprint": "str(treedef)",
    "treespec_structseq": "lw.PyTreeDef.from_children(time.struct_time([leaf] * 9))",
    "treespec_transform": "lw.compat.optree.treespec_transform",
    "treespec_tuple": "lw.tree.treedef_tuple([leaf, leaf])",
}
"""Names of jax, optree and torch, and what to write instead."""


def hint_for(name: str) -> str:
    """Return the end of an error that says where a missing name of `leafwise` is."""
    hint = ""
    for submodule, names in SUBMODULE_NAMES.items():
        public_name = name
        if submodule == "tree":
            public_name = name.removeprefix("tree_")
        if public_name in names:
            hint += f"; there is leafwise.{submodule}.{public_name}"
    if not hint and name in PEER_NAMES:
        hint = f"; use {PEER_NAMES[name]}"
    return hint
