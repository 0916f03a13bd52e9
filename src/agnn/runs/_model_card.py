"""The model card of a run folder."""

from __future__ import annotations

import json

from agnn.errors import InputError
from agnn.files import plain
from agnn.metrics import Summary
from agnn.runs._devices import machine_words
from agnn.runs._run import Run
from agnn.tables import mean_text


def model_card(run: Run) -> str:
    """Return method, data with its hash, split, accuracy and confidence as Markdown."""
    data = run.data
    calibration = run.calibration
    low, high = run.interval
    fitted_to = "labels out of fold" if run.is_cross_fitted else "validation nodes"
    unit = "replica" if run.folds == 1 else "trial"
    labelled = f"{data.labelled.size:,} of them labelled"
    names = ", ".join(_plain(name) for name in data.class_names)
    lines = [
        *_metadata(run),
        f"# {run.method.title} on {_plain(data.name)}",
        "",
        *(f"{_plain(line)}  " for line in run.result.findings),
        "",
        f"- Method: {run.method.title} ({run.method.cites}), {_replicas(run)}.",
        f"- Hyper-parameters: `{json.dumps(run.method.settings)}`",
        f"- Class weights: `{json.dumps(plain(run.class_weight))}`",
        f"- Data: {data.nodes:,} nodes, {labelled}; {data.edge_count:,} undirected edges; "
        f"{data.feature_count:,} features.",
        f"- SHA-256 of the data: `{data.fingerprint}`",
        f"- Classes: {names}",
        f"- Split: {_plain(run.split_spec)}; train, validation, test of the first {unit}: "
        f"{', '.join(str(part.size) for part in run.splits[0].parts.values())}.",
        f"- Test accuracy of one {unit}: {_summary(run.accuracy)}",
        *_unseen(run),
        *_decisions(run),
        f"- Test accuracy of the ensemble: {calibration.accuracy:.2f} % "
        f"({calibration.test_nodes:,} nodes; 95 % interval {low:.1f} to {high:.1f}).",
        f"- Temperature {calibration.temperature:.4f}, fitted to "
        f"{calibration.validation_nodes:,} {fitted_to}: expected calibration error on test "
        f"nodes {calibration.before.error:.3f} before, {calibration.after.error:.3f} after.",
        *([] if run.choice is None else [f"- Automatic choice: {_plain(run.choice['words'])}"]),
        *(f"- Warning: {_plain(warning)}" for warning in run.warnings),
        f"- Made with {', '.join(f'{name} {number}' for name, number in run.versions.items())} "
        f"on {_plain(machine_words(run.machine)) or run.device}.",
        "",
        "Nothing in this folder is code, and loading it runs none:",
        "",
        "    agnn predict FOLDER --out predictions.csv",
        "",
        *_where_the_graph_is(run),
        "`config.json` holds the SHA-256 of every other file; a changed or added file is refused.",
    ]
    return "\n".join(lines) + "\n"


def _metadata(run: Run) -> list[str]:
    """Return what Hugging Face reads of a card, as YAML; JSON values are YAML too."""
    data = run.data
    accuracy = {"type": "accuracy", "value": round(run.accuracy.mean, 4)}
    result = {
        "task": {"type": "node-classification", "name": "Node classification"},
        "dataset": {"type": "graph", "name": data.name, "split": run.split_spec},
        "metrics": [accuracy],
    }
    index = [{"name": f"{run.method.title} on {data.name}", "results": [result]}]
    return [
        "---",
        "library_name: agnn",
        "pipeline_tag: graph-ml",
        f"tags: {json.dumps(['graph-neural-networks', 'node-classification', run.method.name])}",
        f"model-index: {json.dumps(index)}",
        "---",
        "",
    ]


def _replicas(run: Run) -> str:
    count = len(run.seeds)
    if count == 1:
        return "one trained model (replica)"
    return f"{count} replicas: models trained alike that differ in their seed"


def _unseen(run: Run) -> list[str]:
    if run.unseen is None:
        return []
    return [f"- Trained without the tested nodes in the graph: {_summary(run.unseen)}"]


def _decisions(run: Run) -> list[str]:
    """Return what prediction sets promise and how large they are, where labels can calibrate."""
    if run.is_in_parts:  # which takes the whole graph
        return []
    try:
        rule = run.predict_set(0.9, run.data.node_ids[:1]).rule
    except InputError:
        return []
    return [
        f"- Prediction sets: {_plain(rule.guarantee)} {rule.size_sentence} Not for nodes of "
        "another time or kind.",
        *(f"- Warning: {_plain(warning)}" for warning in rule.warnings),
    ]


def _where_the_graph_is(run: Run) -> list[str]:
    """Return what a run on parts needs, and what it was not compared with."""
    if not run.is_in_parts:
        return []
    return [
        "The graph is in the folder of parts that `config.json` names, and must stay there. "
        "Baselines that need features or edges are left out.",
        "",
    ]


def _summary(accuracy: Summary) -> str:
    return f"{mean_text(accuracy, 2, ' %')} (n = {accuracy.n})."


def _plain(name: str) -> str:
    """Return a user's name on one line, without Markdown's or HTML's own signs."""
    escaped = "".join(f"\\{letter}" if letter in r"\`*_[]<>#|" else letter for letter in name)
    return " ".join(escaped.split())
