"""A compiled structure: the generated functions that read and build its trees.

The functions hold the node types of their nodes, so they stay correct whatever is
registered later. Only those that flatten depend on a view, since they know which types
are leaves in it: each view has its own copies.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .._runtime import is_permanent
from ..core.keypath import KeyPath
from ..core.registry import Mode, View
from ..core.treedef import (
    PyTreeDef,
    Runner,
    code_of,
    mode_of,
    reference,
    set_runner,
)
from .build import Builder
from .plan import Plan
from .predicates import flatten_text
from .read import Reader
from .settings import settings


class _NoLeaf:
    """A class without instances, for structures whose leaf types are all unknown."""


class CompiledStructure(Runner):
    """The functions that were generated for one structure.

    Each function is compiled when it is first called.

    Attributes:
        key: Identifies the structure; see `plan.structure_key`.
        plan: The plan that functions are generated from.
        is_retired: Whether it was dropped: its trees are left to the walk from then on.
    """

    def __init__(self, key: tuple[Any, ...], plan: Plan) -> None:
        flatten_up_to: Any = self._first_flatten_up_to
        if plan.varying:  # only the walk compares aux data that differs between trees
            flatten_up_to = reference.flatten_up_to
        super().__init__(self._first_unflatten, flatten_up_to, self._leaf_paths)
        self.key = key
        self.plan = plan
        self.is_retired = False
        self.varying = plan.varying
        if plan.root.leaves <= settings.max_memo_leaves:
            self.memo = {}
        self._flatten_codes: dict[bool, tuple[CodeType, dict[str, Any]]] = {}
        self._treedefs: dict[Mode, PyTreeDef] = {}

    def retire(self, runner: Runner) -> None:
        """Let treedefs that still refer to this structure use another runner."""
        self.is_retired = True
        self.unflatten = runner.unflatten
        self.flatten_up_to = runner.flatten_up_to
        self.paths = runner.paths
        self.memo = None
        self._treedefs = {}

    # ---------------------------------------------------------------- flattening

    def flatten_function(
        self,
        view: View,
        treedef: PyTreeDef,
        leaves: list[Any],
        resume_walk: Callable[..., Any],
        *,
        asks: bool,
    ) -> FunctionType:
        """Return a function that flattens trees of this structure under a view.

        It returns leaves and treedef, or None if the tree has another structure.

        Args:
            view: Says which types are leaves.
            treedef: The treedef of one such tree.
            leaves: The leaves of that tree. Leaves mostly have the same types each
                time, so their types are compared with these first.
            resume_walk: Called with a tree of another structure, if functions of the
                user were already called for it; see `Dispatcher.resume_walk`.
            asks: Whether the function takes a predicate.
        """
        if asks not in self._flatten_codes:
            flatten: Any = flatten_text(self.plan, asks=asks).compiled("flatten")
            namespace = flatten.__globals__
            code = namespace.pop("flatten").__code__
            self._flatten_codes[asks] = code, namespace
        code, namespace = self._flatten_codes[asks]

        # Classes that may be garbage-collected are not kept alive by a function.
        types: list[type | None] = []
        for leaf in leaves:
            cls = type(leaf)
            types.append(cls if is_permanent(cls) else None)
        leaf_types = [cls for cls in types if cls in view.leaf_types]
        # Globals of the text, see `read`: ALIKE is the type of all leaves if there is
        # one, T the commonest, and T1, T2, ... are those of few leaves in turn.
        values: dict[str, Any] = {
            "known_leaves": view.leaf_types.issuperset,
            "leaf_types": view.leaf_types,
            "resume_walk": resume_walk,
            "ALIKE": types[0] if len(set(types)) == 1 else None,
            "T": max(set(leaf_types), key=leaf_types.count, default=_NoLeaf),
        }
        if len(types) <= settings.max_leaf_checks:
            for number, leaf_type in enumerate(types, start=1):
                values[f"T{number}"] = leaf_type
        if self.plan.varying:
            values["treedef_with"] = self._treedef_maker(treedef)
        else:
            # All trees of this structure share one treedef for each mode.
            values["TREEDEF"] = self._treedefs.setdefault(mode_of(treedef), treedef)

        # The interpreter specializes a code object for the globals that it meets, so
        # each function needs its own copy of the code.
        function = FunctionType(code.replace(), {**namespace, **values})
        function.__defaults__ = (None,) * (code.co_argcount - 1)
        return function

    def _treedef_maker(self, treedef: PyTreeDef) -> Callable[[list[Any]], PyTreeDef]:
        """Return a function that makes a treedef from the aux data that varies."""
        positions = self.plan.varying
        count = treedef.num_leaves
        mode = mode_of(treedef)
        template = list(code_of(treedef))
        for index in positions:  # keep no aux data of the first tree alive
            run, node_type, arity, _ = template[index]
            template[index] = (run, node_type, arity, None)

        def treedef_with(varying: list[Any]) -> PyTreeDef:
            code = template.copy()
            for index, aux in zip(positions, varying, strict=True):
                run, node_type, arity, _ = code[index]
                code[index] = (run, node_type, arity, aux)
            new_treedef = PyTreeDef._make(tuple(code), count, mode)
            set_runner(new_treedef, self)
            return new_treedef

        return treedef_with

    # ------------------------------------------------- building, matching, paths

    def _first_unflatten(self, treedef: Any, leaves: list[Any]) -> Any:
        """Build a tree, and compile the function that does so from now on."""
        try:
            unflatten = Builder(self.plan).compiled("unflatten")
        except RecursionError:  # the caller has used up the stack: compile another time
            return reference.unflatten(treedef, leaves)
        if not self.is_retired:
            self.unflatten = unflatten
        return unflatten(treedef, leaves)

    def _first_flatten_up_to(self, treedef: Any, tree: Any) -> Any:
        """Match a tree, and compile the function that does so from now on."""
        try:
            text = Reader(self.plan, is_exact=False)
            text.write()
            flatten_up_to = text.compiled("flatten_up_to")
        except RecursionError:
            return reference.flatten_up_to(treedef, tree)
        if not self.is_retired:
            self.flatten_up_to = flatten_up_to
        return flatten_up_to(treedef, tree)

    def _leaf_paths(self, treedef: Any) -> list[KeyPath]:
        if self.plan.varying or self.plan.root.leaves > settings.max_cached_paths:
            return reference.paths(treedef)
        if self.known_paths is None:
            self.known_paths = reference.paths(treedef)
        return self.known_paths.copy()
