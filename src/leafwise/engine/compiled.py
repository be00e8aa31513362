"""Compiled structures: the runner of a structure that is used again and again.

Owns the functions made of one plan, which are made when they are first wanted, and
what follows from a structure alone: its key paths, and how its leaves spread over
those of another one. None of it depends on the registry, except for `flatten`, which
asks a view which types are leaves: each view has a copy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.registry import Mode, View
from ..core.treedef import PyTreeDef
from ..core.walk import Begun, Runner, leaf_paths, reference
from ..safely import Lasts
from .asking import Asking, Places, commonest, emit_asking
from .emit import compile_text, forget_files
from .flatten import emit_flatten, emit_flatten_up_to
from .plan import FEW_LEAVES, Plan
from .unflatten import emit_unflatten


Flatten: TypeAlias = "Callable[[Any], tuple[list[Any], PyTreeDef] | None]"

_MAX_PATHS: Final = 16_384
_MAX_MODES: Final = 16
_MAX_COVERS: Final = 16


class Compiled(Runner):
    """The runner of a structure that was compiled.

    Attributes:
        key: The fingerprint of the structure.
        plan: Its plan.
        files: The names of the generated files.
        size: How much it takes, in characters of text and entries of lists.
        copies: How much the copies of `flatten` take that views have.
    """

    def __init__(self, key: Hashable, plan: Plan) -> None:
        super().__init__(
            self._first_unflatten,
            self._first_up_to,
            self._find_paths,
            self._find_covers,
        )
        self.key = key
        self.plan = plan
        self.files: list[str] = []
        self.size = plan.entries + 100 * len(plan.parts)
        self.copies = 0
        self._flatten: tuple[CodeType, dict[str, Any]] | None = None
        self._asking: tuple[CodeType, dict[str, Any], Places] | None = None
        self._treedefs: dict[Mode, PyTreeDef] = {}
        self._covered: dict[Runner, list[int] | None] = {}

    def compile(self, text: Any, name: str) -> Callable[..., Any]:
        """Return a function of a text, and take note of what it takes."""
        function, file = compile_text(text, name)
        self.files.append(file)
        self.size += len(str(text))
        return function

    def _forget(self, function: Any) -> None:
        """Forget the lines of a function that was made in vain."""
        forget_files({*self.files} & {function.__code__.co_filename})

    def retire(self, runner: Runner) -> None:
        """Leave the structure to another runner, and forget the generated lines."""
        self.unflatten, self.flatten_up_to = runner.unflatten, runner.flatten_up_to
        self.paths, self.covers = runner.paths, runner.covers
        self._covered.clear()
        self._treedefs.clear()
        forget_files(self.files)

    def outdate(self) -> None:
        """Go on under another state of the registry, where no view has a copy yet."""
        self.copies = 0
        self._covered.clear()  # other structures, which may be dropped

    def has_lasting_classes(self, lasts: Lasts) -> bool:
        """Return whether all classes last that the structure is made of."""
        return all(map(lasts, self.plan.classes_held()))

    def drop_fleeting(self, lasts: Lasts) -> None:
        """Drop what is known of structures that have classes which do not last."""
        for other in [*self._covered]:
            if isinstance(other, Compiled) and not other.has_lasting_classes(lasts):
                self._covered.pop(other, None)

    def flatten_for(self, view: View, treedef: PyTreeDef, leaves: list[Any]) -> Flatten:
        """Return a function that flattens trees of this structure under a view.

        The treedef that it gives is the first one that this structure had in the mode
        of the view, where one can stand for all others.

        Args:
            view: The view.
            treedef: The treedef of such a tree under that view.
            leaves: The leaves of the tree.
        """
        if self._flatten is None:
            function = self.compile(emit_flatten(self.plan), "flatten")
            names = function.__globals__
            self._flatten = names.pop("flatten").__code__, names
        code, names = self._flatten
        given: dict[str, Any] = {"known_leaves": view.leaf_types.issuperset}
        types = [*map(type, leaves)]
        given["ALIKE"] = types[0] if len({*types}) == 1 else None
        if len(leaves) <= FEW_LEAVES:
            given |= {f"T{number}": cls for number, cls in enumerate(types, start=1)}
        return self._copy(code, {**names, **given}, treedef)

    def asking_for(
        self,
        view: View,
        treedef: PyTreeDef,
        leaves: list[Any],
        finish: Callable[[Begun, Any, Any], tuple[list[Any], Any]],
    ) -> Asking:
        """Return a function that flattens such trees under a view, asking a predicate.

        Args:
            view: The view.
            treedef: The treedef of such a tree under that view.
            leaves: The leaves of the tree.
            finish: Does what is left of a tree of another structure: takes how far the
                function came, the tree and the predicate.
        """
        if self._asking is None:
            text = emit_asking(self.plan)
            function = self.compile(text, "flatten")
            self.size += 8 * len(text.marks)
            names = function.__globals__
            code = names.pop("flatten").__code__
            template = self._template(treedef)
            places = Places(self.plan, code.co_filename, text.marks, template)
            self._asking = code, names, places
        code, names, places = self._asking
        given = {
            "T": commonest(leaves, view.leaf_types),
            "leaf_types": view.leaf_types,
            "where": places.where,
            "go_on": finish,
        }
        made = {**names, **given}
        for name, part in names.items():
            if name.startswith("flatten_part"):
                made[name] = FunctionType(part.__code__.replace(), made)
        return self._copy(code, made, treedef)

    def _copy(
        self, code: CodeType, names: dict[str, Any], treedef: PyTreeDef
    ) -> FunctionType:
        """Return a function with globals of its own, and the treedef among them."""
        if self.plan.varying:
            names["treedef_with"] = _treedef_maker(self, treedef)
        else:
            if len(self._treedefs) >= _MAX_MODES:
                self._treedefs.clear()
            names["TREEDEF"] = self._treedefs.setdefault(treedef._mode, treedef)
        # a code object of its own: what the interpreter learns of names holds for one
        made = FunctionType(code.replace(), names)
        self.copies += _size_of(made)
        return made

    def forget_copy(self, function: FunctionType) -> None:
        """Take note that a view has no copy any more."""
        self.copies = max(0, self.copies - _size_of(function))

    def _template(self, treedef: PyTreeDef) -> list[Any]:
        """Return the code of a treedef without the aux data that varies."""
        template = [*treedef._code]
        for place in self.plan.varying:
            template[place] = (*template[place][:3], None)
        return template

    def _first_unflatten(self, treedef: Any, leaves: list[Any]) -> Any:
        made = self._made("unflatten", emit_unflatten, self._first_unflatten)
        return made(treedef, leaves)

    def _first_up_to(self, treedef: Any, tree: Any) -> list[Any] | None:
        made = self._made("flatten_up_to", emit_flatten_up_to, self._first_up_to)
        found: list[Any] | None = made(treedef, tree)
        return found

    def _made(self, name: str, emit: Any, first: Any) -> Callable[..., Any]:
        """Return the function of that name, and put it in the place of the first."""
        function = usual = getattr(reference, name)
        try:
            text = emit(self.plan)
            if text is not None:
                text.names["explain_failure"] = _explain_failure
                function = self.compile(text, name)
        except RecursionError:  # the caller is deep in a stack of its own
            return usual  # type: ignore[no-any-return]  # of a runner
        if getattr(self, name) == first:
            setattr(self, name, function)
        else:  # another thread came first, or retired it
            self._forget(function)
        return function  # type: ignore[no-any-return]  # as above

    def _find_paths(self, treedef: Any) -> list[KeyPath]:
        if self.plan.varying or self.plan.root.leaves > _MAX_PATHS:
            return reference.paths(treedef)
        if self.known_paths is None:
            self.known_paths = leaf_paths(treedef._code, treedef._count)
            self.size += 20 * len(self.known_paths)
        return [*self.known_paths]

    def bare_paths(self, treedef: Any) -> list[tuple[Any, ...]]:
        """Return the key paths of the leaves, and remember them as `paths` does."""
        if self.plan.varying or self.plan.root.leaves > _MAX_PATHS:
            return reference.bare_paths(treedef)
        if self.bare is None:
            self.bare = reference.bare_paths(treedef)
            self.size += 10 * len(self.bare)
        return [*self.bare]

    def _find_covers(self, treedef: Any, whole: Any) -> list[int] | None:
        runner = whole._runner
        if self.plan.varying or type(runner) is not Compiled or runner.plan.varying:
            return reference.covers(treedef, whole)
        try:
            return self._covered[runner]
        except KeyError:
            found = reference.covers(treedef, whole)
        if len(self._covered) >= _MAX_COVERS:
            self._covered.clear()
        self._covered[runner] = found
        return found


def _size_of(function: FunctionType) -> int:
    return len(function.__globals__) + len(function.__code__.co_code)


def _explain_failure(treedef: Any, leaves: list[Any], error: Exception) -> Any:
    """Rebuild by the code, to learn where it fails; raise what failed in any case.

    Running out of stack is no failure of the tree: the code needs none.
    """
    # the frame of its traceback holds the error: a cycle, with the leaves
    BaseException.with_traceback(error, None)
    tree = reference.unflatten(treedef, leaves)
    if isinstance(error, RecursionError):
        return tree
    raise error


def _treedef_maker(
    compiled: Compiled, treedef: PyTreeDef
) -> Callable[[list[Any]], PyTreeDef]:
    """Return a function from the aux data that varies to a treedef."""
    places, count = compiled.plan.varying, treedef._count
    mode: Mode = treedef._mode
    template = compiled._template(treedef)

    def treedef_with(varying: list[Any]) -> PyTreeDef:
        code = [*template]
        for place, aux in zip(places, varying, strict=True):
            run, rule, arity, _ = code[place]
            code[place] = (run, rule, arity, aux)
        made = PyTreeDef._make(tuple(code), count, mode)
        made._runner = compiled
        return made

    return treedef_with
