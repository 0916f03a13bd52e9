"""`agnn export`: a trained model as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli.console import screen, write_json
from agnn.cli.options import Json


def export(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    out: Annotated[Path, typer.Option(help="A new file, such as model.onnx.")],
    json: Json = False,
) -> None:
    """Write the model of a run as ONNX, for graphs of any size.

    The file takes `features` [n, d_x], as the model was trained on, and `edge_index` [2, m], both
    directions of every edge. It gives `probabilities` [n, c], the same as `agnn predict`, and
    `replica_probabilities` [R, n, c].
    """
    from agnn.files import check_new_file
    from agnn.onnx import export_run
    from agnn.runs import load_run

    check_new_file(out)
    saved = load_run(run)
    size = export_run(saved, out)
    if json:
        write_json(
            {
                "out": str(out), "bytes": size, "method": saved.method.name,
                "replicas": len(saved.seeds), "features": saved.config["data"]["features"],
                "class_names": list(saved.class_names),
            }
        )  # fmt: skip
        return
    words = f"{saved.method.title}, {len(saved.seeds)} replicas, {size / 1e6:.1f} MB"
    screen().print(f"{words}: {out}", soft_wrap=True)
