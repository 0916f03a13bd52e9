"""`agnn export`: a trained model as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json


def export(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    out: Annotated[Path, typer.Option(help="A new file, such as model.onnx.")],
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Write the model of a run as ONNX, for graphs of any size.

    The file takes `features`, one row per node as your data has them, which it scales itself, and
    `edge_index`, two rows with both directions of every edge. It gives `probabilities`, the same as
    `agnn predict`, and `replica_probabilities`, those of every replica.
    """
    from agnn.files import check_new_file
    from agnn.onnx import export_run
    from agnn.runs import load_run

    check_new_file(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    size = export_run(trained, out)
    if json:
        write_json(
            {
                "out": str(out),
                "bytes": size,
                "method": trained.method.name,
                "replicas": trained.replicas,
                "features": trained.data.feature_count,
                "class_names": list(trained.data.class_names),
            }
        )
        return
    summary = f"{trained.method.title}, {trained.replicas} replicas, {size / 1e6:.1f} MB"
    screen().print(f"{summary}: {out}", soft_wrap=True)
