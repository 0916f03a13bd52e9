"""The charts of a run: curves, replicas, accuracy by class, reliability, relevance by class."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from agnn.metrics import MEASURES, Calibration, ClassAccuracy, Reliability, Summary
from agnn.palette import AGAINST, FOR, ink_on
from agnn.report._model_facts import Curve, Training
from agnn.report._rendering import EMPTY, FAINT, INK, LAYERS, MARK, clear_axes, new_figure
from agnn.tables import shown_text, signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


_CURVE_SIZE: Final = (3.5, 2.6)  # inches
_POINTS: Final = 500  # of a line; more cannot be seen
_STROKES: Final = ("solid", "dashed", "dashdot", "dotted")  # so that it reads in grey
_CLASS_LETTERS: Final = 26  # in a line of a class's name
# From dark blue to yellow, lighter all the way: it reads the same in grey and without full colour
# vision. The sign stands in the cells.
# Red is less than an even share, violet is more; as in the explorer.
_RELEVANCE: Final = (AGAINST.light, "#f7f7f7", FOR.light)
_CELL_LETTERS: Final = 16  # of a class name before it goes on in the next line


def accuracy_curve(training: Training, curve: Curve) -> Figure:
    """Return the score on the watched nodes, and the epoch that each replica keeps."""
    measure = MEASURES[training.metric]
    unit = f" ({measure.unit.strip()})" if measure.unit else ""
    title = measure.title[0].upper() + measure.title[1:]
    figure, axes = _empty_curve(f"{title} on {training.part} nodes{unit}")
    _draw_curve(axes, curve, INK)
    axes.plot(
        training.kept.values,
        training.kept_accuracy,
        "o",
        color=MARK,
        markersize=5,
        alpha=0.9,
        label="epoch kept",
    )
    # The first steep epochs would press all the rest into one line.
    if measure.is_loss:
        axes.set_ylim(bottom=0.0, top=float(np.percentile(curve.high, 97)) * 1.05)
    else:
        axes.set_ylim(bottom=max(0.0, float(np.percentile(curve.low, 3)) - 3))
    axes.legend(loc="upper right" if measure.is_loss else "lower right", frameon=False, fontsize=9)
    return figure


def loss_curve(training: Training) -> Figure:
    """Return the training loss, with dropout."""
    figure, axes = _empty_curve("Training loss")
    _draw_curve(axes, training.loss, INK)
    axes.set_ylim(bottom=0)
    return figure


def beta_curves(training: Training) -> Figure:
    """Return the one scalar of each attention layer."""
    figure, axes = _empty_curve("β")
    for layer, curve in enumerate(training.betas):
        colour = LAYERS[layer % len(LAYERS)]
        stroke = _STROKES[layer % len(_STROKES)]
        _draw_curve(axes, curve, colour, stroke, f"layer {layer + 1}")
    axes.legend(loc="best", frameon=False, fontsize=9)
    return figure


def _empty_curve(title: str) -> tuple[Figure, Axes]:
    figure = new_figure(*_CURVE_SIZE)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left")
    axes.set_xlabel("epoch")
    clear_axes(axes, "y")
    return figure, axes


def _draw_curve(
    axes: Axes, curve: Curve, colour: str, stroke: str = "solid", label: str = "mean"
) -> None:
    """Draw the mean as a line, lowest to highest as a band."""
    count = curve.mean.size
    points = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(np.int64))
    epochs = points + 1
    axes.fill_between(epochs, curve.low[points], curve.high[points], color=colour, alpha=0.2, lw=0)
    axes.plot(epochs, curve.mean[points], color=colour, linestyle=stroke, lw=1.6, label=label)


def replica_figure(accuracy: Summary, betas: NDArray[np.floating] | None) -> Figure:
    """Return a dot per replica: test accuracy with its mean, and beta [R, l] by layer if given."""
    panels = 1 if betas is None else 2
    figure = new_figure(3.6 * panels, 3.2)
    accuracy_axes, *further_axes = figure.subplots(1, panels, squeeze=False)[0]
    _draw_dots(accuracy_axes, [accuracy], [""])
    accuracy_axes.set_title("Test accuracy (%)", loc="left")
    if accuracy.standard_error is not None:
        error = accuracy.standard_error
        ends = (accuracy.mean - error, accuracy.mean + error)
        accuracy_axes.axhspan(*ends, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
        accuracy_axes.set_xlabel("mean with standard error, and each replica", fontsize=9)
    if betas is not None:
        layers = [Summary(column) for column in np.asarray(betas, dtype=np.float64).T.tolist()]
        _draw_dots(further_axes[0], layers, [f"layer {t + 1}" for t in range(len(layers))])
        further_axes[0].set_title("Beta, layer by layer", loc="left")
        further_axes[0].set_ylim(bottom=min(0.0, further_axes[0].get_ylim()[0]))
    return figure


def _draw_dots(axes: Axes, columns: list[Summary], names: list[str]) -> None:
    for position, summary in enumerate(columns):
        aside = np.linspace(-0.22, 0.22, summary.n) if summary.n > 1 else np.zeros(1)
        axes.plot(position + aside, summary.values, "o", color=INK, markersize=5, alpha=0.85)
        axes.plot([position - 0.32, position + 0.32], [summary.mean] * 2, color=MARK, linewidth=2)
    axes.set_xticks(range(len(columns)), names)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.tick_params(axis="x", length=0)
    clear_axes(axes, "y")


def class_accuracy_figure(rows: Sequence[ClassAccuracy]) -> Figure:
    """Return a line per class: the ensemble with Wilson's interval, the replicas with error."""
    figure = new_figure(6.4, 1.0 + 0.42 * len(rows))
    axes = figure.add_subplot()
    for position, row in enumerate(rows):
        if row.interval is not None and row.ensemble is not None:
            axes.plot(row.interval, [position - 0.13] * 2, color=INK, linewidth=1.6)
            axes.plot(row.ensemble, position - 0.13, "o", color=INK, markersize=6)
        if row.replicas is not None:
            error = row.replicas.standard_error or 0.0
            ends = (row.replicas.mean - error, row.replicas.mean + error)
            axes.plot(ends, [position + 0.17] * 2, color=MARK, linewidth=3.2, solid_capstyle="butt")
            axes.plot(row.replicas.mean, position + 0.17, "D", color=MARK, markersize=4.5)
    axes.plot([], [], "o-", color=INK, markersize=6, label="ensemble, 95 % interval")
    axes.plot([], [], "D-", color=MARK, markersize=4.5, label="one replica, standard error")
    names = [
        textwrap.fill(shown_text(row.name, 3 * _CLASS_LETTERS), _CLASS_LETTERS) for row in rows
    ]
    axes.set_yticks(range(len(rows)), names)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("correct predictions (%)")
    axes.tick_params(axis="y", length=0)
    clear_axes(axes, "x")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def reliability_diagram(calibration: Calibration) -> Figure:
    """Return accuracy over confidence on the test nodes, before and after the temperature.

    Bars are shares of correct predictions, marks their mean confidence: a bar above its mark shows
    under-confidence.
    """
    figure = new_figure(7.2, 3.8)
    before, after = figure.subplots(1, 2, sharey=True)
    _draw_reliability(before, calibration.before, "mean of the replicas")
    _draw_reliability(after, calibration.after, f"temperature {calibration.temperature:.2f}")
    before.set_ylabel("share of correct predictions")
    after.legend(loc="upper left", frameon=False)
    return figure


def _draw_reliability(axes: Axes, reliability: Reliability, title: str) -> None:
    from matplotlib.colors import to_rgba

    bins = reliability.count.size
    full = np.flatnonzero(reliability.count)
    middles = (full + 0.5) / bins
    # Strong bars are many predictions, faint ones few.
    shares = reliability.count[full] / reliability.count.sum()
    colours = [to_rgba(INK, 0.35 + 0.65 * share / shares.max()) for share in shares]
    axes.bar(
        middles, reliability.accuracy[full], 0.92 / bins, color=colours, label="correct predictions"
    )
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
    axes.plot(
        middles,
        reliability.confidence[full],
        "_",
        color=MARK,
        markersize=10,
        markeredgewidth=2.2,
        label="confidence",
    )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", aspect="equal")
    axes.set_title(f"{title}: error {reliability.error:.3f}", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def relevance_heat_map(
    relevance: NDArray[np.float64],
    class_names: Sequence[str],
    title: str,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Return a square of cells [c, c], each with its number: row receives, column sends.

    `limits` are the values at the ends of the colour scale, by default the table's own.
    """
    from matplotlib.colors import LinearSegmentedColormap

    classes = len(class_names)
    figure = new_figure(3.2 + 0.72 * classes, 2.2 + 0.6 * classes)
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("relevance", _RELEVANCE).with_extremes(bad=EMPTY)
    # Zero means something, so it has the colour in the middle.
    ends = np.abs(relevance[np.isfinite(relevance)] if limits is None else np.array(limits))
    end = max(float(ends.max(initial=0.0)), 1e-9)
    image = axes.imshow(
        np.ma.masked_invalid(relevance), cmap=colours, aspect="auto", vmin=-end, vmax=end
    )
    _write_values(axes, image, relevance)
    _name_classes(axes, class_names)
    axes.set_title(title, loc="left", parse_math=False)
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("relevance (0: an even share of the attention)")
    bar.outline.set_visible(False)
    return figure


def _write_values(axes: Axes, image: AxesImage, relevance: NDArray[np.float64]) -> None:
    from matplotlib.colors import to_hex

    for (i, j), value in np.ndenumerate(relevance):
        colour = to_hex(image.to_rgba(np.ma.masked_invalid([value]))[0])
        axes.text(
            j, i, signed_number(value), ha="center", va="center", color=ink_on(colour), fontsize=11
        )


def _name_classes(axes: Axes, class_names: Sequence[str]) -> None:
    lines = [textwrap.fill(name, _CELL_LETTERS) for name in class_names]
    axes.set_xticks(range(len(lines)), lines, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(lines)), lines)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)  # a class name with dollar signs is a name, not a formula
    axes.set_xlabel("neighbour's class (sends)")
    axes.set_ylabel("node's class (receives)")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
