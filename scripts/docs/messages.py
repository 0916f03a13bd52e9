"""The messages of the errors that the package raises, collected from its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GAP = "…"  # where a value stands
_MOST_FORMS = 6  # of one message, where its parts depend on the case


@dataclass(frozen=True)
class Message:
    """One place that raises: the kind of error, the forms of its text, where it stands."""

    kind: str
    forms: tuple[str, ...]
    module: str  # such as "data/tables/_reading"
    line: int

    @property
    def is_readable(self) -> bool:
        """Whether every form has words of its own."""
        return bool(self.forms) and all(re.search(r"[a-z]{3,}.*[a-z]{3,}", f) for f in self.forms)


def messages(source: Path) -> list[Message]:
    """All errors that the package raises on purpose, by module and line."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in source.rglob("*.py")}
    kinds = _kinds(trees.values())
    found: list[Message] = []
    for path, tree in sorted(trees.items()):
        module = path.relative_to(source).with_suffix("").as_posix()
        found += _Reader(tree, kinds).messages(module)
    return found


def _kinds(trees: object) -> set[str]:
    """The names of the classes that derive from AgnnError."""
    bases = {
        node.name: {ast.unparse(base) for base in node.bases}
        for tree in trees  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    known = {"AgnnError"}
    while more := {name for name, above in bases.items() if above & known} - known:
        known |= more
    return known


class _Reader:
    """The messages of one module."""

    def __init__(self, tree: ast.Module, kinds: set[str]) -> None:
        self._kinds, self._tree = kinds, tree
        self._functions = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }
        self._inside: dict[ast.AST, ast.FunctionDef] = {}
        for function in self._functions.values():
            for node in ast.walk(function):
                self._inside[node] = function  # the innermost comes last

    def messages(self, module: str) -> Iterator[Message]:
        """Those of calls that make an error from a text that is not handed in."""
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).split(".")[-1]
            if name == "unknown_name" and node.args:
                forms = [f"unknown {kind} '{GAP}'" for kind in self._texts(node.args[0], node)]
                yield Message("InputError", tuple(forms), module, node.lineno)
            elif name in self._kinds and node.args:
                if self._is_handed_in(node):
                    continue
                forms = list(dict.fromkeys(self._texts(node.args[0], node)))
                yield Message(name, tuple(map(_tidy, forms)), module, node.lineno)

    def _is_handed_in(self, node: ast.Call) -> bool:
        function, text = self._inside.get(node), node.args[0]
        if function is None or not isinstance(text, ast.Name):
            return False
        return text.id in {each.arg for each in [*function.args.args, *function.args.kwonlyargs]}

    def _texts(self, node: ast.expr, place: ast.AST, depth: int = 0) -> list[str]:
        """The texts that an expression may have, with gaps for values."""
        if depth > 6:
            return [GAP]
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if isinstance(node, ast.JoinedStr):
            parts = [self._texts(each, place, depth + 1) for each in node.values]
            return _joined(parts)
        if isinstance(node, ast.FormattedValue):
            inner = node.value
            literal = isinstance(inner, ast.IfExp | ast.Name | ast.Constant)
            return self._texts(inner, place, depth + 1) if literal else [GAP]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [self._texts(side, place, depth + 1) for side in (node.left, node.right)]
            return _joined(sides)
        if isinstance(node, ast.IfExp):
            return [
                text
                for each in (node.body, node.orelse)
                for text in self._texts(each, place, depth + 1)
            ]
        if isinstance(node, ast.Name):
            return self._assigned(node.id, place, depth)
        if isinstance(node, ast.Call):
            function = self._functions.get(ast.unparse(node.func).split(".")[-1])
            if function is not None:
                returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
                texts = [t for n in returns for t in self._texts(n.value, n, depth + 1)]  # type: ignore[arg-type]
                return texts[:_MOST_FORMS] or [GAP]
        return [GAP]

    def _assigned(self, name: str, place: ast.AST, depth: int) -> list[str]:
        """What a name is set to in the function around it, else in the module."""
        function = self._inside.get(place)
        for scope in filter(None, (function, self._tree)):
            values = [
                node.value
                for node in ast.walk(scope)
                if isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value is not None
                and name in {ast.unparse(t) for t in _targets(node)}
            ]
            values += [value for node in ast.walk(scope) for value in _looped(name, node)]
            texts = [
                text
                for value in values
                if isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp | ast.IfExp)
                and not (isinstance(value, ast.Constant) and not isinstance(value.value, str))
                for text in self._texts(value, place, depth + 1)
            ]
            if texts:
                return texts[:_MOST_FORMS]
        return [GAP]


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _looped(name: str, node: ast.AST) -> list[ast.expr]:
    """What a name stands for in a loop over rows that are written out."""
    if not (isinstance(node, ast.For) and isinstance(node.target, ast.Tuple)):
        return []
    names = [ast.unparse(each) for each in node.target.elts]
    if name not in names or not isinstance(node.iter, ast.Tuple | ast.List):
        return []
    rows = [row for row in node.iter.elts if isinstance(row, ast.Tuple)]
    return [row.elts[names.index(name)] for row in rows]


def _joined(parts: list[list[str]]) -> list[str]:
    """Every combination of the parts, up to a few."""
    texts = [""]
    for options in parts:
        texts = [text + option for text in texts for option in options][:_MOST_FORMS]
    return texts


def _tidy(text: str) -> str:
    return re.sub(rf"{GAP}(\s*{GAP})+", GAP, " ".join(text.split()))
