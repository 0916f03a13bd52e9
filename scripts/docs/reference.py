"""Generated pages: the Python interface, the commands, the methods, the messages of errors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import MISSING, fields
from itertools import groupby
from typing import Any

import typer
from messages import GAP, Message, messages
from pages import ROOT, with_code_blocks

import agnn
from agnn.cli._app import COMMANDS, program
from agnn.methods import Method, get_method, method_names
from agnn.studies import Store, results_of, select_experiments

SOURCE = ROOT / "src" / "agnn"


def generated_pages() -> dict[str, str]:
    """All generated pages by name, in the order of the menu."""
    return {**python_pages(), **command_pages(), **method_pages(), **error_pages()}


# Python


def python_pages() -> dict[str, str]:
    """A page of what `import agnn` offers, and one for each package."""
    folder = "reference/python"
    pages = {f"{folder}/agnn.md": _top()}
    packages = {name for name, module in agnn._HOMES.items() if not module}
    deeper = {home.removeprefix("agnn.") for home in agnn._HOMES.values() if home.count(".") > 1}
    for name in sorted(packages | deeper):
        place = SOURCE / name.replace(".", "/")
        path = place / "__init__.py"
        text = (path if path.is_file() else place.with_suffix(".py")).read_text(encoding="utf-8")
        members = _exported(text)
        if name in ("methods", "networks"):  # each has a page of its own
            linked = _method_classes() - set(agnn.__all__)
            members = [member for member in members if member not in linked]
        if members:
            pages[f"{folder}/{name}.md"] = _python_page(f"agnn.{name}", members)
    return pages


def _method_classes() -> set[str]:
    return {get_method(name).__name__ for name in method_names()}


def _top() -> str:
    """What `import agnn` offers: one line each, by task, with the page that describes it."""
    lines = ["# agnn", "", *with_code_blocks(inspect.getdoc(agnn) or "").split("\n"), ""]
    for package, names in groupby(agnn.__all__, key=agnn._HOMES.__getitem__):
        page = package.removeprefix("agnn.")
        lines += [f"## From {package}", "", "| name | what it is |", "|---|---|"]
        for name in names:
            words = (inspect.getdoc(getattr(agnn, name)) or "").split("\n")[0]
            lines.append(f"| [`{name}`]({page}.md#{package}.{name}) | {_cell(words)} |")
        lines.append("")
    return "\n".join(lines)


def _exported(text: str) -> list[str]:
    """The names that a package imports `as` themselves; of a module, those it lists or defines."""
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names if alias.name == alias.asname]
    if names:
        return sorted(names)
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
    defined = (ast.FunctionDef, ast.ClassDef)
    return [n.name for n in tree.body if isinstance(n, defined) and not n.name.startswith("_")]


def _python_page(name: str, members: list[str]) -> str:
    listed = "".join(f"        - {member}\n" for member in members)
    return (
        f"# {name}\n\n::: {name}\n    options:\n      show_root_heading: false\n"
        f"      show_root_toc_entry: false\n      members:\n{listed}"
    )


# Commands


def command_pages() -> dict[str, str]:
    """A page for each command, from the objects that its help is printed from."""
    return {f"reference/commands/{each.__name__}.md": _command(each.__name__) for each in COMMANDS}


def _command(name: str) -> str:
    group: Any = typer.main.get_command(program([name]))
    command = group.commands[name]
    context = command.make_context(f"agnn {name}", [], resilient_parsing=True)
    usage = [piece for each in command.params for piece in each.get_usage_pieces(context)]
    lines = [f"# agnn {name}", "", _linked(_prose(inspect.cleandoc(command.help or ""))), ""]
    lines += [f"    agnn {name} {' '.join(['[options]', *usage])}", ""]
    if command.epilog:
        lines += ["Example:", "", f"    {command.epilog.removeprefix('Example: ')}", ""]
    groups: dict[str, list[tuple[str, str]]] = {}
    for each in command.params:
        record = each.get_help_record(context)
        kind = "Arguments" if each.param_type_name == "argument" else "Options"
        if record:
            groups.setdefault(each.rich_help_panel or kind, []).append(record)
    for title, records in groups.items():
        lines += [f"## {title}", "", "| name | what it does | default |", "|---|---|---|"]
        for words, text in records:
            text, _, default = text.partition("  [default: ")
            default = default.removesuffix("]").removeprefix("(").removesuffix(")")
            names, _, value = words.partition(" <")
            takes = f" <{value}" if value else ""
            shown = ", ".join(f"`{word}{takes}`" for word in names.split(", "))
            lines.append(f"| {shown} | {_cell(text)} | {_cell(default)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|").replace("\n", " ")


def _prose(text: str) -> str:
    """Text as Markdown takes it literally; code between backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _literal(part) for part in parts)


def _literal(text: str) -> str:
    for mark, words in {"*": "\\*", "<": "&lt;", "[": "\\["}.items():
        text = text.replace(mark, words)
    return text


# Methods


def method_pages() -> dict[str, str]:
    """An overview of the methods, and a page for each with its formula, fields and figures."""
    folder = "reference/methods"
    figures = _figures()
    rows = [
        f"| [{method.title}]({method.name}.md) | `{method.name}` | {_cell(_first_line(method))} "
        f"| {method.cites} |"
        for method in map(get_method, method_names())
    ]
    overview = [
        "# All methods",
        "",
        "Every method has the same interface: `agnn train --method NAME`, "
        '`NodeClassifier("NAME")`, `agnn.evaluate("NAME", data)`. '
        "[Choosing a method](../../choosing_a_method.md) says which one for which graph.",
        "",
        "| method | name | what it is | source |",
        "|---|---|---|---|",
        *rows,
        "",
    ]
    pages = {f"{folder}/all.md": "\n".join(overview)}
    for name in method_names():
        pages[f"{folder}/{name}.md"] = _method(get_method(name), figures.get(name, []))
    return pages


def _first_line(method: type[Method]) -> str:
    return (inspect.getdoc(method) or "").split("\n")[0]


def _method(method: type[Method], figures: list[str]) -> str:
    lines = [f"# {method.title}", "", _docstring(method), ""]
    lines += [f"- Name: `{method.name}`"]
    if method.cites:
        lines += [f"- Source: {method.cites}"]
    lines += [f"- Class weights: {'yes' if method.takes_class_weights else 'no'}", ""]
    model = getattr(method, "model", None)
    if model is not None:
        lines += ["## Model", "", _docstring(model), ""]
    notes = field_notes(method)
    lines += ["## Hyper-parameters", "", "| field | default | meaning |", "|---|---|---|"]
    for each in fields(method):
        default = "required" if each.default is MISSING else f"`{each.default!r}`"
        lines.append(f"| `{each.name}` | {default} | {_cell(notes.get(each.name, ''))} |")
    lines += [
        "",
        f"Set them by `agnn train --method {method.name} --set NAME=VALUE`, or as arguments of "
        "`NodeClassifier`.",
        "",
    ]
    elsewhere = getattr(method, "elsewhere", {})
    if elsewhere:
        lines += [f"On graphs without a preset: {_values(elsewhere)}.", ""]
    if method.presets:
        lines += [
            "## Presets",
            "",
            "What differs from the defaults where settings were published.",
            "",
        ]
        lines += ["| setting | dataset | changes |", "|---|---|---|"]
        for (setting, dataset), values in method.presets.items():
            where = "any other" if dataset == "*" else dataset
            lines.append(f"| {setting} | {where} | {_values(values) or 'none'} |")
        lines.append("")
    if method.grid:
        tried = "; ".join(
            f"`{name}`: {', '.join(map(str, each))}" for name, each in method.grid.items()
        )
        lines += [f"`--tuned` tries {tried}.", ""]
    if figures:
        lines += [
            "## Figures",
            "",
            "As [rerun by this package](../../reproduction.md); in brackets the number of runs.",
            "",
            *figures,
        ]
    return "\n".join(lines)


def _values(values: Any) -> str:
    return ", ".join(f"`{name}={value!r}`" for name, value in values.items())


def _docstring(thing: Any) -> str:
    """A docstring as Markdown: indented lines are formulas, and so are lines that align."""
    parts = []
    for part in (inspect.getdoc(thing) or "").split("\n\n"):
        aligned = part.count("\n") > 0 and all(" = " in line for line in part.split("\n"))
        if part.startswith("    ") or aligned:
            body = inspect.cleandoc(part) if part.startswith("    ") else part
            parts.append(f"```text\n{body}\n```")
        else:
            parts.append(_linked(_prose(part)))
    return "\n\n".join(parts)


def _linked(text: str) -> str:
    """Links in place of the paths of pages, as a page two folders down writes them."""

    def link(path: re.Match[str]) -> str:
        title = (ROOT / path[0]).read_text(encoding="utf-8").split("\n")[0].removeprefix("# ")
        return f"[{title}](../../{path[1]}.md)"

    return re.sub(r"\bdocs/([\w/]+)\.md\b", link, text)


def field_notes(method: type) -> dict[str, str]:
    """What the comments beside or above the fields of a method and its bases say."""
    notes: dict[str, str] = {}
    for kind in reversed(method.__mro__):
        if "__dataclass_fields__" not in kind.__dict__:
            continue
        above: list[str] = []
        for line in inspect.getsource(kind).split("\n"):
            comment = re.match(r"    # (.*)", line)
            field = re.match(
                r"    (\w+): (?!ClassVar).*?(?:  # (?!noqa)(.*?))?(?:  # noqa.*)?$", line
            )
            if comment:
                above.append(comment[1])
                continue
            if field and field[1] in inspect.get_annotations(kind):
                words = field[2] or " ".join(above)
                if words:
                    notes[field[1]] = words
            above = []
    return notes


def _figures() -> dict[str, list[str]]:
    """The rows of each method in the tables that have runs, as Markdown."""
    with closing(Store.from_rows(ROOT / "results")) as store:
        results = results_of(select_experiments("all"), store)
    found: dict[str, list[str]] = {}
    for result in results:
        if result.comparison is not None:
            for row in result.comparison.rows:
                shown = list(_row(result.comparison.table, row))
                if shown:
                    found.setdefault(row.row.method, []).extend(shown)
    return found


def _row(table: Any, row: Any) -> Iterator[str]:
    cells = [
        (column, cell)
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.ours is not None
    ]
    if row.absence is not None or not cells:
        return
    yield f"**{table.heading}**: {row.row.title}"
    yield ""
    yield "| | " + " | ".join(column.title for column, _ in cells) + " |"
    yield "|---" * (len(cells) + 1) + "|"
    unit = f", {table.unit}" if table.unit else ""
    ours = []
    for _, cell in cells:
        error = cell.ours.standard_error
        ours.append(
            f"{cell.ours.mean:.2f}" + (f" ± {error:.2f}" if error else "") + f" ({cell.ours.n})"
        )
    yield f"| here{unit} | " + " | ".join(ours) + " |"
    if any(cell.paper is not None for _, cell in cells):
        printed = [cell.paper.printed if cell.paper is not None else "" for _, cell in cells]
        yield "| in the paper | " + " | ".join(printed) + " |"
    yield ""


# Errors

_PLACES = {  # the first words of a module's place -> the heading; the first that fits
    "data/tables": "Tables",
    "data/_splits": "Splits",
    "data": "Data",
    "graph": "Graphs",
    "methods": "Methods",
    "training": "Training",
    "kernels": "Kernels",
    "metrics": "Measures",
    "runs": "Runs and run folders",
    "estimator": "NodeClassifier",
    "explanation": "Explanations",
    "decisions": "Decisions",
    "studies": "Reproduction and comparison",
    "report": "Reports",
    "distributed": "Several machines",
    "executors": "Several machines",
    "web": "Servers",
    "onnx": "ONNX",
    "pyg": "PyG",
    "cli": "Command line",
}


def error_pages() -> dict[str, str]:
    """The page with the words of every error."""
    groups: dict[str, list[Message]] = {}
    for each in messages(SOURCE):
        titles = [title for start, title in _PLACES.items() if each.module.startswith(start)]
        groups.setdefault(titles[0] if titles else "Others", []).append(each)
    lines = [
        "# All error messages",
        "",
        "What the package raises on purpose, collected from its source; "
        f"{GAP} stands for a value. On the command line the message follows `error:`, and the exit "
        "code is 2. [Questions and error messages](../faq.md) explains the most frequent ones.",
        "",
    ]
    for title in [*dict.fromkeys(_PLACES.values()), "Others"]:
        if title in groups:
            lines += [f"## {title}", ""]
            forms = {form: each.kind for each in groups[title] for form in each.forms}
            shown = sorted((form, kind) for form, kind in forms.items() if form.strip(f"{GAP}', :"))
            lines += [f"- {_prose(form)} `{kind}`" for form, kind in shown] + [""]
    return {"reference/errors.md": "\n".join(lines)}
