"""`agnn datasets`, `methods`, `inspect` and `doctor`: what is there, without training anything."""

from dataclasses import fields
from inspect import getdoc
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import Dataset, Edges, Nodes, data_table, find_data
from agnn.cli._console import rich_table, screen, write_json
from agnn.cli._options import Json
from agnn.cli._partition import manifest_record, manifest_table

if TYPE_CHECKING:
    from agnn.data import NodeData, ReadOptions
    from agnn.methods import Method
    from agnn.tables import ResultTable
    from agnn.training import ProblemSize

# Sizes above these are typing mistakes.
_MOST = 10**12
_WIDEST = 10**4
_DEEPEST = 1000


def datasets(json: Json = False) -> None:
    """List the datasets inside the package."""
    from agnn.data import load_dataset
    from agnn.data.store import dataset_names

    facts = [_dataset_facts(load_dataset(name)) for name in dataset_names()]
    if json:
        write_json({"datasets": facts})
        return
    from agnn.tables import Column, ResultTable

    columns = [
        Column("name", of=itemgetter("name")),
        *(
            Column(key, of=itemgetter(key), is_number=True)
            for key in ("nodes", "edges", "features", "classes")
        ),
        Column("homophily", of=lambda fact: f"{100 * fact['homophily']:.0f} %", is_number=True),
        Column("fixed split", of=_fixed_split, is_number=True),
    ]
    console = screen()
    console.print(rich_table(ResultTable.of(columns, facts)))
    console.print("homophily: edges whose two ends share a class; split: train / validation / test")


def _fixed_split(fact: dict[str, Any]) -> str:
    return " / ".join(str(size) for size in fact["splits"]["fixed"].values())


def _dataset_facts(data: "NodeData") -> dict[str, Any]:
    return {
        "name": data.name,
        "nodes": data.nodes,
        "labelled": data.labelled.size,
        "edges": data.edges.shape[1],
        "features": data.feature_count,
        "classes": data.classes,
        "class_names": data.class_names,
        "homophily": data.report.homophily,
        "splits": {
            name: {part: nodes.size for part, nodes in split.parts.items()}
            for name, split in data.splits.items()
        },
    }


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="Show only this method, in more detail."),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods with their sources and hyper-parameters."""
    from agnn.methods import get_method, method_names

    names = method_names() if name is None else (get_method(name).name,)
    facts = [_method_facts(get_method(method)) for method in names]
    if json:
        write_json({"methods": facts})
        return
    from rich.padding import Padding

    console = screen()
    for fact in facts:
        console.print(f"{fact['name']}: {fact['title']}, {fact['source']}", style="bold")
        console.print(Padding(fact["description"], (0, 0, 0, 2)))
        values = (f"{name} {value}" for name, value in fact["hyper_parameters"].items())
        console.print(Padding(", ".join(values), (0, 0, 1, 2)))
        if name is not None:
            _print_more(fact)
    console.print("The paper's presets change these for its datasets; --json lists them.")


def _print_more(fact: dict[str, Any]) -> None:
    """Print what the list leaves out: the whole description, and what `--tuned` tries."""
    from rich.padding import Padding

    console = screen()
    if fact["details"]:
        console.print(Padding(fact["details"], (0, 0, 1, 2)), markup=False)
    uses = "Uses" if fact["uses_edge_weights"] else "Does not use"
    console.print(Padding(f"{uses} edge weights.", (0, 0, 1, 2)))
    if fact["grid"]:
        tried = (f"{name} {', '.join(map(str, values))}" for name, values in fact["grid"].items())
        console.print(Padding(f"--tuned tries {'; '.join(tried)}", (0, 0, 1, 2)))


def _method_facts(method: "type[Method]") -> dict[str, Any]:
    description, _, details = (getdoc(method) or "").partition("\n")
    return {
        "name": method.name,
        "title": method.title,
        "source": method.cites,
        "grid": {field: list(values) for field, values in method.grid.items()},
        "description": description,
        "details": _unwrap(details.strip("\n")),
        "uses_edge_weights": method.uses_edge_weights,
        "hyper_parameters": {field.name: field.default for field in fields(method)},
        "presets": [
            {"setting": setting, "dataset": dataset, "hyper_parameters": dict(values)}
            for (setting, dataset), values in method.presets.items()
        ],
    }


def _unwrap(text: str) -> str:
    """The text with each paragraph on one line; indented formulas keep their lines."""
    return "\n\n".join(
        part if part.startswith(" ") else part.replace("\n", " ") for part in text.split("\n\n")
    )


def inspect(
    dataset: Dataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    name: Annotated[str | None, typer.Option(help="What to call the data.")] = None,
    json: Json = False,
    *,
    read: "ReadOptions",
) -> None:
    """Show what is in a graph, how each column is used and what is unusual, before training.

    Of a folder of parts: how it is divided.
    """
    if dataset is not None and (Path(dataset) / "manifest.json").is_file():
        _inspect_parts(Path(dataset), as_json=json)
        return
    report = find_data(dataset, nodes, edges, name, read).report
    if json:
        write_json({"data": report.to_dict()})
        return
    console = screen()
    console.print(report.name, style="bold")
    console.print(rich_table(data_table(report)))


def _inspect_parts(folder: Path, *, as_json: bool) -> None:
    from agnn.distributed import PartsFolder

    manifest = PartsFolder(folder).manifest
    if as_json:
        write_json({"parts": manifest_record(manifest)})
        return
    console = screen()
    console.print(f"{manifest.name}: {len(manifest.parts)} parts", style="bold")
    console.print(rich_table(manifest_table(manifest)))


def doctor(
    *,
    nodes: Annotated[
        int | None,
        typer.Option(help="Also say whether a graph with this many nodes fits.", min=1, max=_MOST),
    ] = None,
    edges: Annotated[int, typer.Option(help="Its undirected edges.", min=0, max=_MOST)] = 0,
    features: Annotated[int, typer.Option(help="Its features.", min=1, max=_MOST)] = 128,
    classes: Annotated[int, typer.Option(help="Its classes.", min=2, max=_WIDEST)] = 10,
    layers: Annotated[int, typer.Option(help="Propagation layers.", min=1, max=_DEEPEST)] = 4,
    hidden: Annotated[int, typer.Option(help="Width of the states.", min=1, max=_WIDEST)] = 16,
    replicas: Annotated[int, typer.Option(help="Models trained at once.", min=1, max=_MOST)] = 1,
    json: Json = False,
) -> None:
    """Show versions, devices and backends, and check that the fast kernels are correct.

    The exit code is 1 if one is not.
    """
    findings = _findings()
    if nodes is not None:
        from agnn.training import ProblemSize

        size = ProblemSize(
            nodes=nodes, edges=2 * edges, features=features, classes=classes, replicas=replicas
        )
        findings["memory"] = _memory(size, layers, hidden, findings["devices"])
    if json:
        write_json(findings)
    else:
        screen().print(rich_table(_findings_table(findings)))
    if any(check["fault"] is not None for check in findings["checks"]):
        raise typer.Exit(1)


def _findings() -> dict[str, Any]:
    from agnn.kernels import BACKENDS, obstacle, openmp_obstacle, self_check
    from agnn.runs import machine, versions

    backends = {name: obstacle(name) for name in BACKENDS}
    return {
        "versions": versions(),
        "machine": machine(),
        "openmp": {"works": openmp_obstacle() is None, "reason": openmp_obstacle()},
        "devices": ["cpu", *_gpus()],
        "backends": {
            name: {"works": reason is None, "reason": reason} for name, reason in backends.items()
        },
        "checks": [
            {"backend": check.backend, "kernel": check.kernel, "fault": check.fault}
            for check in self_check()
        ],
    }


def _memory(size: "ProblemSize", layers: int, hidden: int, devices: list[str]) -> dict[str, Any]:
    """What training AGNN on dense features would need, and which devices have that much memory."""
    from agnn.networks import AGNN
    from agnn.training import free_memory

    estimate = AGNN(layers=layers, hidden=hidden).memory_of(size)
    free = {device: free_memory(device.split()[0]) for device in devices}
    return {
        "needs": estimate.total,
        "parts": str(estimate),
        "free": free,
        "fits": {d: None if size is None else estimate.total <= size for d, size in free.items()},
    }


def _gpus() -> list[str]:
    import torch

    if not torch.cuda.is_available():
        return []
    return [f"cuda:{k} {torch.cuda.get_device_name(k)}" for k in range(torch.cuda.device_count())]


def _findings_table(findings: dict[str, Any]) -> "ResultTable":
    from agnn.runs import machine_words
    from agnn.tables import facts_table

    openmp = findings["openmp"]
    threads = f"no: {openmp['reason']}; several threads help with long work only"
    facts = [
        ("versions", ", ".join(f"{k} {v}" for k, v in findings["versions"].items())),
        ("machine", machine_words(findings["machine"])),
        ("torch's OpenMP threads", "works" if openmp["works"] else threads),
        ("devices", ", ".join(findings["devices"])),
    ]
    for name, backend in findings["backends"].items():
        facts.append(
            (f"backend {name}", "works" if backend["works"] else f"no: {backend['reason']}")
        )
    for check in findings["checks"]:
        fault = check["fault"]
        verdict = "agrees with the reference" if fault is None else f"WRONG: {fault}"
        facts.append((f"check {check['kernel']}", f"{check['backend']} {verdict}"))
    if "memory" in findings:
        memory = findings["memory"]
        facts.append(("training needs", memory["parts"]))
        for device, size in memory["free"].items():
            free = "not known" if size is None else f"{size / 2**30:.1f} GiB"
            fits = {True: "fits", False: "does not fit", None: ""}[memory["fits"][device]]
            facts.append((f"free on {device}", f"{free} {fits}".strip()))
    return facts_table(facts)
