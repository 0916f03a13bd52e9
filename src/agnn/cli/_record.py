"""A run as JSON for machines and as a short table for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from agnn.metrics import Summary
    from agnn.runs import Run


def run_record(run: Run, out: Path | None = None) -> dict[str, Any]:
    """What `--json` prints: the result and all that it depends on.

    `seeds`, `betas`, `selected_epochs`, `diverged_epochs` (0: did not diverge) and, of a tuned run,
    `chosen` have one entry per trained replica; with k folds these are k for each trial. A value
    of `accuracy` is a replica's or a trial's; replicas without usable weights have none.
    """
    record: dict[str, Any] = {
        "dataset": run.data.name,
        "method": run.method.name,
        "split": run.split_spec,
        "accuracy": run.accuracy.to_dict(),
        "metric": run.metric,
        "measures": {name: found.to_dict() for name, found in run.measures.items()},
        "baselines": [each.to_dict() for each in run.baselines],
        "warnings": run.warnings,
        "confidence": run.calibration.to_dict(),
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "diverged_epochs": run.diverged_epochs,
        "seconds": run.seconds,
        "seconds_per_replica_epoch": run.seconds_per_replica_epoch,
        "device": run.device,
        "backend": run.backend,
        "seeds": list(run.seeds),
        "versions": dict(run.versions),
        "machine": dict(run.machine),
        "hyper_parameters": run.method.settings,
        "configuration": run.configuration,
    }
    if run.choice is not None:
        record["choice"] = dict(run.choice)
    if run.chosen is not None:
        record["chosen"] = [dict(each) for each in run.chosen]
    if out is not None:
        record["out"] = str(out)
    if run.data.classes == 2:
        record["auc"] = run.measure("auc").to_dict()
    if run.caveat is not None:
        record["note"] = run.caveat
    return record


def nested_record(runs: Sequence[Run]) -> dict[str, Any]:
    """What `--json` adds of a nested estimate: the measures over its splits, and the choices."""
    if not runs:
        return {}
    from agnn.metrics import MEASURES

    return {
        "nested": {
            "measures": {name: _over(runs, name).to_dict() for name in MEASURES},
            "choices": [dict(run.choice or {}) for run in runs],
        }
    }


def nested_words(runs: Sequence[Run]) -> str | None:
    """The nested estimate in words: the metric over its splits, and what was chosen on each."""
    if not runs:
        return None
    from agnn.metrics import MEASURES

    name = runs[0].metric or "accuracy"
    measure, found = MEASURES[name], _over(runs, name)
    error = "" if found.standard_error is None else f" ± {measure.shown(found.standard_error)}"
    chosen = ", ".join(run.method.title for run in runs)
    return (
        f"{measure.title} {measure.shown(found.mean)}{error}{measure.unit} of the whole choice on "
        f"{found.n} splits (chosen: {chosen})"
    )


def _over(runs: Sequence[Run], name: str) -> Summary:
    from agnn.metrics import Summary

    return Summary([run.measure(name).mean for run in runs])


def run_table(
    run: Run,
    out: Path | None = None,
    nested: str | None = None,
    arguments: Sequence[str] = (),
) -> Table:
    """The result in a few lines; `nested` says what a nested estimate found.

    Where a baseline is better that comes first, with the command that trains it if the
    `arguments` of `agnn train` are given.
    """
    from rich.table import Table
    from rich.text import Text

    from agnn.runs import machine_words

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    worse = [each for each in run.baselines if each.difference.is_worse]
    first = [each.warning for each in worse]
    rows: list[tuple[str, Text | str | None]] = [
        *(("worse", Text(words or "", style="bold red")) for words in first),
        ("better", better_command(run, arguments, out)),
        ("test accuracy", Text(accuracy_words(run), style="bold")),
        ("ensemble", ensemble_words(run)),
        ("baselines", baseline_words(run)),
        *_measure_rows(run),
        ("choice", None if run.choice is None else str(run.choice["words"])),
        ("nested estimate", nested),
        *((f"beta, layer {layer}", words) for layer, words in enumerate(beta_words(run), 1)),
        ("time", _time_words(run)),
        ("computed on", f"{run.device}, backend {run.backend}"),
        ("machine", machine_words(run.machine) or None),
        ("note", run.caveat),
        *(("warning", Text(words, style="yellow")) for words in run.warnings if words not in first),
        ("written to", None if out is None else str(out)),
    ]
    for name, words in rows:
        if words is not None:
            table.add_row(name, words)
    return table


def accuracy_words(run: Run) -> str:
    """Mean, standard error, n and deviation in words; of a single model the test nodes' interval.

    A replica is explained where the word is first read.
    """
    accuracy, folds = run.accuracy, run.folds
    repeated = "replica" if folds == 1 else "trial"
    of_folds = "" if folds == 1 else f" of {folds} folds, cross-validated"
    if accuracy.standard_error is None:
        sampled = f"; {interval_words(run)}" if run.replicas == 1 else ""
        return f"{accuracy.mean:.2f} % (one {repeated}{of_folds}{sampled})"
    return (
        f"{accuracy.mean:.2f} ± {accuracy.standard_error:.2f} % (standard error over "
        f"{accuracy.n} {repeated}s{of_folds}: models that differ in their seed; deviation "
        f"{accuracy.deviation:.2f})"
    )


def interval_words(run: Run) -> str:
    """Wilson's interval of the ensemble: the uncertainty due to the number of test nodes."""
    from agnn.metrics import percent_interval

    found = run.calibration
    low, high = percent_interval(round(found.accuracy * found.test_nodes / 100), found.test_nodes)
    return f"95 % interval {low:.1f} to {high:.1f} for {found.test_nodes:,} test nodes"


def ensemble_words(run: Run) -> str | None:
    """What the replicas reach together, and how far their probabilities can be trusted."""
    if len(run.seeds) == 1:
        return None
    found = run.calibration
    error = f"calibration error {found.before.error:.3f}"
    if found.has_helped:
        error += f", {found.after.error:.3f} at temperature {found.temperature:.2f}"
    elif found.validation_nodes:
        error = f"calibration error {found.after.error:.3f}"
    return f"{found.accuracy:.2f} % by the mean of the replicas ({interval_words(run)}); {error}"


def baseline_words(run: Run) -> str | None:
    """What the baselines reach."""
    names = {
        "most_frequent_class": "most frequent class",
        "features": "features alone",
        "graph": "edges alone",
    }
    shown = [f"{names[each.baseline]} {each.score}" for each in run.baselines]
    return ", ".join(shown) or None


# Options of `agnn train` that describe a method or its training, and whether a value follows.
_OF_A_METHOD: Final = {
    **dict.fromkeys(
        ("--method", "--epochs", "--layers", "--hidden", "--learning-rate", "--weight-decay",
         "--dropout", "--scaling", "--stop-after", "--stop-on", "--batch", "--fanout",
         "--precision", "--set", "--search", "--class-weight", "--time", "--checkpoint", "--ranks",
         "--divide", "--wire", "--executor", "--track", "--out"), True,
    ),
    **dict.fromkeys(("--tuned", "--nested", "--resume"), False),
}  # fmt: skip


def better_command(run: Run, arguments: Sequence[str], out: Path | None) -> str | None:
    """The command that trains the better baseline on the same data; None where there is none."""
    better = [each for each in run.baselines if each.better_method is not None]
    if not better or not arguments or "--config" in arguments:
        return None
    best = max(better, key=lambda each: abs(each.difference.mean)).better_method
    kept: list[str] = []
    is_value = False  # of an option that is left out
    for word in arguments:
        option, equals, _ = word.partition("=")
        if is_value:
            is_value = False
        elif option in _OF_A_METHOD:
            is_value = _OF_A_METHOD[option] and not equals
        else:
            kept.append(word)
    to = [] if out is None else ["--out", f"{out}-{best}"]
    return shlex.join(["agnn", *kept, "--method", str(best), *to])


def beta_words(run: Run) -> list[str]:
    """Each layer's beta over the replicas: mean, lowest and highest."""
    from agnn.metrics import Summary

    found = []
    for column in zip(*(run.betas or []), strict=True):
        lowest, highest, mean = min(column), max(column), f"{Summary(column).mean:.2f}"
        found.append(mean if lowest == highest else f"{mean} ({lowest:.2f} to {highest:.2f})")
    return found


def _measure_rows(run: Run) -> list[tuple[str, str]]:
    """The other measures of one replica; the one that was chosen by comes first."""
    from agnn.metrics import MEASURES

    names = sorted((name for name in MEASURES if name != "accuracy"), key=lambda n: n != run.metric)
    rows = []
    for name in names:
        measure, found = MEASURES[name], run.measures[name]
        error = found.standard_error
        spread = "" if error is None or error != error else f" ± {measure.shown(error)}"
        chosen = " (chosen by)" if name == run.metric else ""
        rows.append((measure.title, f"{measure.shown(found.mean)}{spread}{measure.unit}{chosen}"))
    return rows


def _time_words(run: Run) -> str:
    each = run.seconds_per_replica_epoch
    if each is None:
        return f"{run.seconds:.1f} s"
    return f"{run.seconds:.1f} s, {1e3 * each:.2f} ms for each replica and epoch"
