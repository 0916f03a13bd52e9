"""`agnn datasets`: the graphs that come with the package."""

from typing import TYPE_CHECKING, Any

from agnn.cli._console import screen, write_json
from agnn.cli._options import Json

if TYPE_CHECKING:
    from agnn.data import NodeData


def datasets(json: Json = False) -> None:
    """List the datasets inside the package."""
    from agnn.data import dataset_names, load_dataset

    facts = [_facts(load_dataset(name)) for name in dataset_names()]
    if json:
        write_json({"datasets": facts})
        return
    from rich.table import Table

    table = Table("name", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("nodes", "edges", "features", "classes", "homophily", "fixed split"):
        table.add_column(heading, justify="right")
    for fact in facts:
        counts = [f"{fact[key]:,}" for key in ("nodes", "edges", "features", "classes")]
        split = " / ".join(str(size) for size in fact["splits"]["fixed"].values())
        table.add_row(fact["name"], *counts, f"{100 * fact['homophily']:.0f} %", split)
    console = screen()
    console.print(table)
    console.print("homophily: edges whose two ends share a class; split: train / validation / test")


def _facts(data: "NodeData") -> dict[str, Any]:
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
