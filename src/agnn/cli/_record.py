"""A run as JSON for machines and as a short table for people, and what is known before it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agnn.cli._arguments import data_table
from agnn.cli._console import rich_table, screen
from agnn.cli._options import HYPER_PARAMETERS
from agnn.files import plain

if TYPE_CHECKING:
    from rich.table import Table

    from agnn.runs import Plan, Run


def print_plan(plan: Plan, *, is_json: bool) -> None:
    """Print what is worth knowing before the training."""
    from agnn.choosing import Search
    from agnn.data import SplitSpec
    from agnn.methods import NetworkMethod, get_method
    from agnn.tables import enumeration

    training = plan.training
    note = Search.optimism(plan.splits, plan.folds) if training.search is not None else None
    if note is not None:
        screen(is_error=True).print(f"note: {note}", soft_wrap=True)
    if plan.data.reading is None or is_json:
        return
    console = screen()
    console.print(f"The data: {plan.data.name}", style="bold")
    console.print(rich_table(data_table(plan.data.report)))
    about = SplitSpec.DEFAULTS.get(SplitSpec.CROSS_FIT if plan.passes else plan.split_spec, "")
    if training.is_auto and not plan.passes:
        about = "one for all replicas"
    console.print(f"Split {plan.split_spec}{': ' * bool(about)}{about}.")
    for remark in plan.remarks:
        console.print(remark)
    console.print()
    if plan.rivals:
        titles = dict.fromkeys(get_method(name).title for name, _ in plan.rivals)
        names = enumeration([plan.method.title, *titles])
        console.print(f"First, held-out labels choose between {names}.\n")
    if isinstance(plan.method, NetworkMethod):
        needed = plan.method.memory_estimate(plan.task()).total / 2**20
        memory = f"{needed / 1024:.1f} GiB" if needed >= 1024 else f"{max(needed, 1):.0f} MiB"
        count = len(plan.seeds)
        models = "1 replica" if count == 1 else f"{count} replicas"
        console.print(f"Training {models} takes up to {memory} of memory.\n")


def run_record(run: Run, out: Path | None = None) -> dict[str, Any]:
    """Return what `--json` prints: the result and all that it depends on.

    `seeds`, `betas`, `selected_epochs`, `diverged_epochs` (0: did not diverge) and, of a tuned run,
    `chosen` have one entry per trained replica; with k folds these are k for each trial. A value
    of `accuracy` is a replica's or a trial's; replicas without usable weights have none.
    """
    from agnn.runs import ResultSummary

    record: dict[str, Any] = {
        "dataset": run.data.name,
        "method": run.method.name,
        "split": run.split_spec,
        "result": ResultSummary.of(run, out),
        "accuracy": run.accuracy,
        "unseen": run.unseen,
        "metric": run.metric,
        "measures": run.measures,
        "baselines": run.baselines,
        "warnings": run.warnings,
        "confidence": run.calibration,
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "diverged_epochs": run.diverged_epochs,
        "seconds": run.seconds,
        "seconds_per_replica_epoch": run.seconds_per_replica_epoch,
        "device": run.device,
        "backend": run.backend,
        "seeds": run.seeds,
        "versions": run.versions,
        "machine": run.machine,
        "hyper_parameters": run.method.settings,
        "configuration": run.configuration,
    }
    if run.choice is not None:
        record["choice"] = {name: value for name, value in run.choice.items() if name != "nested"}
        if "nested" in run.choice:
            record["nested"] = run.choice["nested"]
    more = {
        "chosen": run.chosen,
        "out": out,
        "auc": run.measures["auc"] if run.data.classes == 2 else None,
        "note": run.caveat,
    }
    record |= {name: value for name, value in more.items() if value is not None}
    return dict(plain(record))


def print_result(
    run: Run, title: str, out: Path | None = None, arguments: Sequence[str] = ()
) -> None:
    """Print the result in one look, then the details.

    A result that is worse than a baseline is called so on the first line, and the second has the
    command that trains the better one if the `arguments` of `agnn train` are given.
    """
    from agnn.runs import ResultSummary

    result = ResultSummary.of(run, out, better_command(run, arguments, out))
    console = screen()
    console.print(title, style="bold")
    headline, *further_lines = result.lines
    console.print(headline, style="bold red" if result.worse_than else "bold green")
    for line in further_lines:
        # A command is not broken into lines: it can be copied.
        console.print(line, soft_wrap=line.startswith(("next: ", "better: ", "threshold: ")))
    console.print()
    console.print(run_table(run, out))


def run_table(run: Run, out: Path | None = None) -> Table:
    """Return the details of a result, with all warnings."""
    from agnn.runs import machine_words
    from agnn.tables import Cell, facts_table

    choice = run.choice or {}
    facts: list[tuple[str | Cell, str | Cell | None]] = [
        *(("warning", Cell(warning, kind="warning")) for warning in run.warnings),
        ("test accuracy", accuracy_words(run)),
        ("unseen nodes", unseen_words(run)),
        ("ensemble", ensemble_words(run)),
        *_measure_rows(run),
        ("choice", choice.get("words")),
        ("nested estimate", (choice.get("nested") or {}).get("words")),
        ("baselines", _BASELINES_IN_PARTS if run.is_in_parts else None),
        ("time", _time_words(run)),
        ("computed on", f"{run.device}, backend {run.backend}"),
        ("machine", machine_words(run.machine) or None),
        ("note", run.caveat),
        ("written to", None if out is None else str(out)),
    ]
    return rich_table(facts_table(facts))


def accuracy_words(run: Run) -> str:
    """Return mean, standard error, n and deviation; of a single model the test nodes' interval.

    A replica is explained where the word is first read.
    """
    accuracy = run.accuracy
    folds = run.folds
    repeated = "replica" if folds == 1 else "trial"
    of_folds = "" if folds == 1 else f" of {folds} folds, cross-validated"
    if run.is_cross_fitted:
        repeated = "pass"
        of_folds = f" over {folds} folds: each label predicted by a model not trained on it"
    if accuracy.standard_error is None:
        is_sampled = run.replicas == 1 or run.is_cross_fitted
        sampled = f"; {interval_words(run)}" if is_sampled else ""
        return f"{accuracy.mean:.2f} % (one {repeated}{of_folds}{sampled})"
    plural = "es" if run.is_cross_fitted else "s"
    return (
        f"{accuracy.mean:.2f} ± {accuracy.standard_error:.2f} % (standard error over "
        f"{accuracy.n} {repeated}{plural}{of_folds}: models that differ in their seed; deviation "
        f"{accuracy.deviation:.2f})"
    )


def unseen_words(run: Run) -> str | None:
    """Return the accuracy of replicas that were trained without the tested nodes in the graph."""
    from agnn.tables import mean_text

    if run.unseen is None:
        return None
    accuracy = mean_text(run.unseen, 2, " %")
    return f"{accuracy}, trained without the tested nodes in the graph: for nodes that come later"


def interval_words(run: Run) -> str:
    """Return the interval of the ensemble: the uncertainty due to the number of test nodes."""
    low, high = run.interval
    tested = run.calibration.test_nodes
    return f"95 % interval {low:.1f} to {high:.1f} for {tested:,} test nodes"


def ensemble_words(run: Run) -> str | None:
    """Return what the replicas reach together, and how far their probabilities can be trusted."""
    if len(run.seeds) == 1:
        return None
    calibration = run.calibration
    error = f"calibration error {calibration.before.error:.3f}"
    if calibration.has_helped:
        after = calibration.after.error
        error += f" before, {after:.3f} after temperature {calibration.temperature:.2f}"
    elif calibration.validation_nodes:
        error = f"calibration error {calibration.after.error:.3f}"
    if run.is_cross_fitted and run.replicas == run.folds:
        # A label has one replica that was not trained on it: nothing tests the ensemble.
        return f"the {run.replicas} replicas together predict unlabelled nodes; {error}"
    return (
        f"{calibration.accuracy:.2f} % by the mean of the replicas ({interval_words(run)}); {error}"
    )


_BASELINES_IN_PARTS: Final = "features alone and edges alone are left out: the graph is in parts"

# Options of `agnn train` that describe a method or its training; a value follows, or none.
_METHOD_OPTIONS: Final = (
    *(f"--{name.replace('_', '-')}" for name in HYPER_PARAMETERS),
    "--method",
    "--set",
    "--search",
    "--class-weight",
    "--time",
    "--checkpoint",
    "--ranks",
    "--divide",
    "--wire",
    "--executor",
    "--track",
    "--out",
)
_METHOD_FLAGS: Final = ("--tuned", "--nested", "--resume")


def better_command(run: Run, arguments: Sequence[str], out: Path | None) -> str | None:
    """Return the command that trains the better baseline on the same data, if there is one."""
    better = [baseline for baseline in run.baselines if baseline.better_method is not None]
    if not better or not arguments or "--config" in arguments:
        return None
    best = max(better, key=lambda baseline: abs(baseline.difference.mean)).better_method
    kept_words: list[str] = []
    is_value = False  # of an option that is left out
    for word in arguments:
        option, equals, _ = word.partition("=")
        if is_value:
            is_value = False
        elif option in _METHOD_OPTIONS:
            is_value = not equals
        elif option not in _METHOD_FLAGS:
            kept_words.append(word)
    to = [] if out is None else ["--out", f"{out}-{best}"]
    return shlex.join(["agnn", *kept_words, "--method", str(best), *to])


def _measure_rows(run: Run) -> list[tuple[str, str]]:
    """Return the other measures of one replica; the one that was chosen by comes first."""
    from agnn.metrics import MEASURES
    from agnn.tables import mean_text

    names = sorted((name for name in MEASURES if name != "accuracy"), key=lambda n: n != run.metric)
    rows = []
    for name in names:
        measure = MEASURES[name]
        text = mean_text(run.measures[name], measure.digits, measure.unit)
        rows.append((measure.title, f"{text} (chosen by)" if name == run.metric else text))
    return rows


def _time_words(run: Run) -> str:
    seconds = run.seconds_per_replica_epoch
    if seconds is None:
        return f"{run.seconds:.1f} s"
    return f"{run.seconds:.1f} s, {1e3 * seconds:.2f} ms for each replica and epoch"
