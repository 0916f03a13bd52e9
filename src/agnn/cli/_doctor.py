"""`agnn doctor`: what this machine offers, and whether its fast kernels are correct."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import Json

if TYPE_CHECKING:
    from rich.table import Table

_MOST = 10**12  # sizes above it are typing mistakes


def doctor(
    nodes: Annotated[
        int | None,
        typer.Option(help="Also say whether a graph with this many nodes fits.", min=1, max=_MOST),
    ] = None,
    edges: Annotated[int, typer.Option(help="Its undirected edges.", min=0, max=_MOST)] = 0,
    features: Annotated[int, typer.Option(help="Its features.", min=1, max=_MOST)] = 128,
    classes: Annotated[int, typer.Option(help="Its classes.", min=2, max=_MOST)] = 10,
    layers: Annotated[int, typer.Option(help="Propagation layers.", min=0, max=_MOST)] = 4,
    hidden: Annotated[int, typer.Option(help="Width of the states.", min=1, max=_MOST)] = 16,
    replicas: Annotated[int, typer.Option(help="Models trained at once.", min=1, max=_MOST)] = 1,
    json: Json = False,
) -> None:
    """Show versions, devices and backends, and check that the fast kernels are correct.

    The exit code is 1 if one is not.
    """
    findings = _findings()
    if nodes is not None:
        sizes = {"features": features, "classes": classes, "layers": layers, "hidden": hidden}
        findings["memory"] = _memory(nodes, edges, findings["devices"], replicas, sizes)
    if json:
        write_json(findings)
    else:
        screen().print(_table(findings))
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


def _memory(
    nodes: int, edges: int, devices: list[str], replicas: int, sizes: dict[str, Any]
) -> dict[str, Any]:
    """What training on dense features would need, and which devices have that much memory."""
    from agnn.training import free_memory, memory_estimate

    estimate = memory_estimate(nodes, 2 * edges, replicas=replicas, **sizes)
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


def _table(findings: dict[str, Any]) -> "Table":
    from rich.table import Table

    from agnn.runs import machine_words

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("versions", ", ".join(f"{k} {v}" for k, v in findings["versions"].items()))
    table.add_row("machine", machine_words(findings["machine"]))
    openmp = findings["openmp"]
    words = f"no: {openmp['reason']}; several threads help with long work only"
    table.add_row("torch's OpenMP threads", "works" if openmp["works"] else words)
    table.add_row("devices", ", ".join(findings["devices"]))
    for name, backend in findings["backends"].items():
        table.add_row(
            f"backend {name}", "works" if backend["works"] else f"no: {backend['reason']}"
        )
    for check in findings["checks"]:
        words = (
            "agrees with the reference" if check["fault"] is None else f"WRONG: {check['fault']}"
        )
        table.add_row(f"check {check['kernel']}", f"{check['backend']} {words}")
    if "memory" in findings:
        memory = findings["memory"]
        table.add_row("training needs", memory["parts"])
        for device, size in memory["free"].items():
            words = "not known" if size is None else f"{size / 2**30:.1f} GiB"
            fits = {True: "fits", False: "does not fit", None: ""}[memory["fits"][device]]
            table.add_row(f"free on {device}", f"{words} {fits}".strip())
    return table
