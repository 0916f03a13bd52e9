"""`agnn doctor`: what this machine offers, and whether the fast kernels tell the truth on it."""

import os
from typing import TYPE_CHECKING, Any

import typer

from agnn.cli.console import screen, write_json
from agnn.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table


def doctor(json: Json = False) -> None:
    """Show versions, devices and backends, and check the fast kernels; exit code 1 if one errs."""
    findings = _findings()
    if json:
        write_json(findings)
    else:
        screen().print(_table(findings))
    if any(check["fault"] is not None for check in findings["checks"]):
        raise typer.Exit(1)


def _findings() -> dict[str, Any]:
    import torch

    from agnn.cli.self_check import self_checks
    from agnn.evaluation import versions
    from agnn.kernels import BACKENDS, obstacle

    backends = {name: obstacle(name) for name in BACKENDS}
    return {
        "versions": versions(),
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "devices": ["cpu", *_gpus()],
        "backends": {
            name: {"works": reason is None, "reason": reason} for name, reason in backends.items()
        },
        "checks": [
            {"backend": check.backend, "kernel": check.kernel, "fault": check.fault}
            for check in self_checks()
        ],
    }


def _gpus() -> list[str]:
    import torch

    if not torch.cuda.is_available():
        return []
    return [f"cuda:{k} {torch.cuda.get_device_name(k)}" for k in range(torch.cuda.device_count())]


def _table(findings: dict[str, Any]) -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("versions", ", ".join(f"{k} {v}" for k, v in findings["versions"].items()))
    table.add_row("threads", f"{findings['threads']} of {findings['processors']} processors")
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
    return table
