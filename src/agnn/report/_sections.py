"""The sections of a run's report, each declared once.

To add a section, write its template `run_KEY.html` and an entry in SECTIONS. The entry says what
the section computes from the run, draws, gives to its template and adds to the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agnn import __version__
from agnn.metrics import MEASURES, Interval
from agnn.report._charts import (
    accuracy_curve,
    beta_curves,
    class_accuracy_figure,
    loss_curve,
    relevance_heat_map,
    reliability_diagram,
    replica_figure,
)
from agnn.report._decision_facts import decision_facts
from agnn.report._model_facts import Training
from agnn.report._neighbourhoods import LENSES, Panel, legend_figure, lone_neighbourhood
from agnn.report._node_facts import Absent, Surroundings
from agnn.runs import Run, machine_words
from agnn.tables import NOTHING, Column, ResultTable, Row, facts_table, shown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agnn.report._run_page import RunFacts

Captioned = tuple["Figure", str]
_MOST_CLASSES: Final = 25  # in a heat map; more cannot be read
_MOST_CELLS: Final = 40  # classes in the confusion matrix
_MISTAKES: Final = 5
_LONGEST: Final = 600  # letters of a sentence
_LEGEND_WIDTH: Final = 7.2  # inches
_MOST_LINES: Final = 60  # of classes below each other


@dataclass(frozen=True)
class Section:
    """A section of the page: its heading, and what it takes from a run."""

    key: str  # of its template, run_KEY.html, and its anchor
    title: str
    computed: Callable[[Run], Any] | None = None  # what of it is in no other section
    figures: Callable[[RunFacts], Iterator[tuple[str, Captioned]]] | None = None
    words: Callable[[RunFacts], Mapping[str, Any]] | None = None  # for the template
    values: Callable[[RunFacts], Mapping[str, Any]] | None = None  # for the JSON


def _title(training: Training) -> str:
    title = MEASURES[training.metric].title
    return title[0].upper() + title[1:]


def _training(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    training = facts.training
    if isinstance(training, Absent):
        return
    if training.accuracy is not None:
        curve = accuracy_curve(training, training.accuracy)
        yield (
            "accuracy_curve",
            (curve, f"{_title(training)} on the {training.part} nodes; dots are the epochs kept."),
        )
    yield "loss_curve", (loss_curve(training), "The training loss, with dropout.")
    if training.betas:
        yield "beta_curves", (beta_curves(training), "β of each attention layer.")


def _accuracy(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.result.interval is not None and len(facts.by_class) <= _MOST_LINES:
        figure = class_accuracy_figure(facts.by_class)
        yield "class_accuracy", (figure, "Accuracy by class; the same numbers are in the table.")
    if facts.accuracy.n > 1:
        rows = facts.config.get("betas")
        figure = replica_figure(facts.accuracy, np.array(rows) if rows else None)
        caption = "Each dot is a replica: the same model from another random start."
        if facts.folds > 1:
            caption = "Each dot is a trial of all folds on the left, a replica on the right."
        yield "replicas", (figure, f"{caption} The bar is the mean.")


def _reliability(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.result.interval is not None:
        yield (
            "reliability",
            (
                reliability_diagram(facts.calibration),
                "Bars: the share of correct predictions at each confidence; the fuller the colour, "
                "the more predictions. Marks: their mean confidence. On the line the two agree.",
            ),
        )


def _relevance(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if isinstance(facts.attention, Absent) or len(facts.class_names) > _MOST_CLASSES:
        return
    names = [shown_text(name, 48) for name in facts.class_names]
    layers = [layer for layer in facts.attention.layers if not layer.is_even]
    tables = np.array([layer.relevance for layer in layers])
    # One scale for all layers, or a fading relevance could not be seen.
    limits = None if np.isnan(tables).all() else (np.nanmin(tables), np.nanmax(tables))
    for layer in facts.attention.layers:
        if not layer.is_even:
            title = f"Relevance, layer {layer.layer}"
            figure = relevance_heat_map(layer.relevance, names, title, limits)
            yield (
                f"relevance_{layer.layer}",
                (
                    figure,
                    f"Layer {layer.layer}: the relevance of neighbours of the column's class for "
                    f"nodes of the row's class.",
                ),
            )


def _neighbourhoods(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if isinstance(facts.surroundings, Absent):
        return
    names = [shown_text(name, 32) for name in facts.class_names]
    neighbourhoods = [node.around for node in facts.surroundings]
    for lens in LENSES:
        legend = legend_figure(neighbourhoods, names, _LEGEND_WIDTH, lens)
        yield f"around_legend_{lens}", (legend, "Legend of all pictures.")
        for number, node in enumerate(facts.surroundings, 1):
            panel = Panel(node.around, f"{node.why}: {shown_text(node.answer.id, 28)}", lens=lens)
            yield (
                f"around_{number}_{lens}",
                (lone_neighbourhood(panel), _caption(node, facts, names)),
            )


def _caption(node: Surroundings, facts: RunFacts, names: Sequence[str]) -> str:
    row = node.answer
    answered = f"{shown_text(row.answer)} ({100 * row.probability:.0f} %)"
    lead = node.around.lead
    truth = f", label {shown_text(row.truth)}" if row.truth else ""
    prediction = (
        f"{facts.title} predicts {answered}."
        if lead is None
        else shown_text(lead.sentence(facts.title, names), _LONGEST)
    )
    if lead is not None and row.truth is not None and facts.data.splits > 1:
        # The picture is of all replicas; the node was chosen by those that do not know its label.
        prediction = (
            f"Replicas that were not trained on it predict {answered}. All together: {prediction}"
        )
    return f"Node {shown_text(row.id)}{truth}. {prediction}"


class ConfusionCell(NamedTuple):
    """A cell of the confusion matrix."""

    nodes: int
    share: float  # of its row
    shade: float  # 0 to 1; mistakes have a scale of their own, or the diagonal would hide them


class Mistake(NamedTuple):
    """The number of nodes of one class that are predicted to be of another."""

    truth: str
    answer: str
    nodes: int


def _confusion(facts: RunFacts) -> list[list[ConfusionCell]]:
    """Return the confusion matrix row by row; empty if there are too many classes."""
    if len(facts.class_names) > _MOST_CELLS:
        return []
    counts = facts.test.confusion()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    wrong = np.where(np.eye(len(shares), dtype=bool), 0.0, shares)
    shades = np.where(wrong > 0, wrong / max(float(wrong.max()), 1e-12), shares)
    return [
        [ConfusionCell(*cell) for cell in zip(*(values.tolist() for values in row), strict=True)]
        for row in zip(counts, shares, shades, strict=True)
    ]


def _mistakes(facts: RunFacts) -> list[Mistake]:
    counts = facts.test.confusion()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MISTAKES]
    names = facts.class_names
    pairs = [np.unravel_index(cell, counts.shape) for cell in order.tolist()]
    return [Mistake(names[i], names[j], int(counts[i, j])) for i, j in pairs if counts[i, j]]


def _preference(facts: RunFacts) -> str:
    """Return a sentence: how often the most relevant edges join equals, compared with all edges."""
    if isinstance(facts.attention, Absent):
        return ""
    rankings = [layer.ranking for layer in facts.attention.layers if layer.ranking is not None]
    ranking = next((ranking for ranking in reversed(rankings) if ranking.top is not None), None)
    if ranking is None or ranking.top is None:
        return ""
    ahead = ranking.top.mean - ranking.everywhere
    error = ranking.top.standard_error
    top = f"{100 * ranking.top.mean:.1f} %"
    everywhere = f"{100 * ranking.everywhere:.1f} %"
    if error is None:  # one replica: no word about what another would do
        return (
            f"In layer {ranking.layer}, {top} of the {ranking.count} most relevant edges join "
            f"nodes of the same class, and {everywhere} of all edges."
        )
    often = "more often than" if ahead > 0 else "less often than"
    if abs(ahead) <= 2 * error:
        often = "about as often as"
    return (
        f"In layer {ranking.layer}, the {ranking.count} most relevant edges join nodes of the same "
        f"class {often} edges in general ({top} against {everywhere})."
    )


def _relations(facts: RunFacts) -> list[Relation]:
    """Return the pairs of different classes in the last layer, the most relevant first."""
    if isinstance(facts.attention, Absent):
        return []
    return relations(facts.attention.layers[-1].relevance, facts.class_names)


class Relation(NamedTuple):
    """A pair of different classes and the relevance from one to the other."""

    sender: str
    receiver: str
    relevance: float


def relations(relevance: NDArray[np.float64], class_names: Sequence[str]) -> list[Relation]:
    """Return all pairs of different classes that an edge joins, the most relevant first.

    `relevance` is [c, c]: row receives, column sends, NaN where no edge joins the two.
    """
    pairs = [
        Relation(sender, receiver, float(relevance[i, j]))
        for i, receiver in enumerate(class_names)
        for j, sender in enumerate(class_names)
        if i != j and not np.isnan(relevance[i, j])
    ]
    return sorted(pairs, key=lambda pair: -pair.relevance)


def _accuracy_values(facts: RunFacts) -> dict[str, Any]:
    return {
        "measures": facts.measures,
        "accuracy": {
            "replicas": facts.accuracy,
            "unseen": facts.config.get("unseen"),
            "ensemble": facts.calibration.accuracy,
            "wilson_interval": facts.result.interval,
            "classes": facts.by_class,
        },
    }


def _repetition(facts: RunFacts) -> str:
    return "replica" if facts.folds == 1 else "trial"


def _measure_table(facts: RunFacts) -> ResultTable:
    """Return mean and standard error of every measure, each with its own digits."""
    columns = (
        Column("measure"),
        Column("mean", is_number=True),
        Column("standard error", is_number=True),
    )
    rows = []
    for name, summary in facts.measures.items():
        measure = MEASURES[name]
        error = summary.standard_error
        spread = None if error is None else measure.shown(error)
        rows.append(Row((measure.title, measure.shown(summary.mean) + measure.unit, spread)))
    metric = facts.config["metric"]
    choice = f"; epochs and settings were chosen by {metric.replace('_', ' ')}" if metric else ""
    caption = f"All measures of one {_repetition(facts)} on its test nodes{choice}"
    return ResultTable(columns, tuple(rows), caption)


def _beta_table(facts: RunFacts) -> ResultTable:
    """Return the betas of every layer over the replicas."""
    titles = ("mean", "deviation", "lowest", "highest")
    columns = (Column("layer"), *(Column(title, digits=2, is_number=True) for title in titles))
    rows = tuple(
        Row((layer, beta.mean, beta.deviation, min(beta.values), max(beta.values)))
        for layer, beta in enumerate(facts.betas, start=1)
    )
    return ResultTable(columns, rows, "β of the kept weights")


def _class_table(facts: RunFacts) -> ResultTable:
    """Return the accuracy of every class, and of all."""
    titles = (f"one {_repetition(facts)}", "ensemble", "interval", "correct", "test nodes")
    columns = (
        Column("class", is_name=True),
        *(Column(title, digits=1, is_number=True) for title in titles),
    )
    interval = facts.result.interval
    rows = [
        Row((row.name, row.replicas, row.ensemble, _ends(row.interval), row.right, row.count))
        for row in facts.by_class
    ]
    everything = (
        "all classes",
        facts.accuracy,
        None if interval is None else facts.calibration.accuracy,
        _ends(interval),
        sum(row.right for row in facts.by_class),
        facts.calibration.test_nodes,
    )
    caption = "Percent of test nodes predicted correctly"
    return ResultTable(columns, (*rows, Row(everything)), caption)


def _ends(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"{interval.low:.1f} to {interval.high:.1f}"


def _data_tables(facts: RunFacts) -> dict[str, ResultTable]:
    """Return what is in the data by heading, and the classes by part."""
    report = facts.data.report
    lists = {
        "Size": report.count_lines(),
        "Columns": report.column_lines(),
        "Remarks": report.warning_lines(),
    }
    return {
        heading: facts_table((shown_text(name), shown_text(text, 400)) for name, text in lines)
        for heading, lines in lists.items()
    }


def _part_table(facts: RunFacts) -> ResultTable:
    parts = ("labelled", "train", "validation", "test")
    rows = [Row((row.name, *(getattr(row, part) for part in parts))) for row in facts.data.classes]
    sums = (sum(getattr(row, part) for row in facts.data.classes) for part in parts)
    splits = facts.data.splits
    remark = f", and parts of the first of {splits} different splits" if splits > 1 else ""
    columns = (Column("class", is_name=True), *(Column(part, is_number=True) for part in parts))
    return ResultTable(columns, (*rows, Row(("all", *sums))), f"Nodes by class{remark}")


def making_table(facts: RunFacts, command: str) -> ResultTable:
    """Return how the run was made: all that another needs to make it again."""
    config = facts.config
    settings = {name: value for name, value in config["method"].items() if name != "name"}
    preset = config.get("configuration")
    choice = config.get("choice")
    metric = config.get("metric")
    weights = config.get("class_weight")
    machine = machine_words(config.get("machine", {}))
    return facts_table(
        [
            ("command", command or None),
            ("method", facts.title + (f", hyper-parameters {preset}" if preset else "")),
            ("hyper-parameters", _pairs(settings)),
            ("chosen by", f"{metric.replace('_', ' ')} on validation nodes" if metric else None),
            ("automatic choice", choice["words"] if choice else None),
            ("split", shown_text(config["split"])),
            ("seeds", ", ".join(map(str, config["seeds"]))),
            ("class weights", shown_text(weights, 300) if weights else None),
            (
                "time",
                f"{config['seconds']:.1f} s of training on {config['device']}, backend "
                f"{config['backend']}",
            ),
            ("machine", shown_text(machine, 300) if machine else None),
            ("versions", _pairs(config["versions"])),
            ("data", f"SHA-256 {config['data']['fingerprint']}"),
            ("this page", f"holds no script and loads nothing; made with agnn {__version__}"),
        ]
    )


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _confusion_values(facts: RunFacts) -> dict[str, Any]:
    counts = facts.test.confusion()
    return {"confusion": {"class_names": facts.class_names, "counts": counts}}


SECTIONS: Final[tuple[Section, ...]] = (
    Section(
        "neighbourhoods",
        "Why: some predictions and their reasons",
        figures=_neighbourhoods,
        values=lambda facts: {"neighbourhoods": facts.surroundings},
    ),
    Section(
        "accuracy",
        "Accuracy by class",
        figures=_accuracy,
        words=lambda facts: {
            "measure_table": _measure_table(facts),
            "class_table": _class_table(facts),
        },
        values=_accuracy_values,
    ),
    Section(
        "mistakes",
        "Confusion matrix",
        words=lambda facts: {"confusion": _confusion(facts), "mistakes": _mistakes(facts)},
        values=_confusion_values,
    ),
    Section(
        "nodes",
        "Most and least certain nodes",
        values=lambda facts: {
            "test_nodes": facts.certainty,
            "unlabelled_nodes": facts.unlabelled,
        },
    ),
    Section(
        "confidence",
        "Calibration",
        figures=_reliability,
        values=lambda facts: {"confidence": facts.calibration},
    ),
    Section(
        "decisions",
        "From predictions to decisions",
        computed=decision_facts,
        values=lambda facts: {"decisions": facts.more["decisions"]},
    ),
    Section(
        "attention",
        "Attention",
        figures=_relevance,
        words=lambda facts: {"relations": _relations(facts), "preference": _preference(facts)},
        values=lambda facts: {"attention": facts.attention},
    ),
    Section(
        "training",
        "Training",
        figures=_training,
        words=lambda facts: {"beta_table": _beta_table(facts)},
        values=lambda facts: {"training": facts.training},
    ),
    Section(
        "data",
        "The data",
        words=lambda facts: {"data_tables": _data_tables(facts), "part_table": _part_table(facts)},
        values=lambda facts: {"data": facts.data},
    ),
    Section("making", "How the run was made"),
)
