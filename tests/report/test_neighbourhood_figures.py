"""What the marks of a neighbourhood carry: attention, class, target, training."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

from agnn.data import NodeData
from agnn.drawing import class_mark
from agnn.errors import InputError
from agnn.explanation import Margin, Neighbourhood, Relevance
from agnn.report._hub_pictures import hub_lines
from agnn.report._neighbourhoods import Panel, neighbourhood_figure
from agnn.report._paper_figures import contrast_figure, relevance_figure
from agnn.report._rendering import HOLLOW, png, svg
from agnn.runs import Run, evaluate, preset_method
from toy_runs import run_of
from zoo_models import even_split, zoo_model

NAMES = ("red", "green", "blue")
TARGET = 100


def words(figure: Any) -> list[str]:
    """The lines of text in the figure's SVG."""
    root = ET.fromstring(svg(figure))  # noqa: S314 (our own drawing)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def polygon_area(corners: np.ndarray) -> float:
    x, y = corners.T
    return 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))


def centre(corners: np.ndarray) -> np.ndarray:
    """The centre of gravity of a polygon."""
    following = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    return (cross[:, None] * (corners + following)).sum(0) / (3 * cross.sum())


def marks(axes: Any) -> dict[int, Any]:
    """The patch of every node."""
    return {int(patch.get_gid().removeprefix("node-")): patch for patch in axes.patches}


@pytest.fixture(scope="module")
def around() -> Neighbourhood:
    return Neighbourhood.of(zoo_model("agnn", "random"), TARGET, even_split(200), limit=30)


@pytest.fixture(scope="module")
def axes(around: Neighbourhood) -> Any:
    return neighbourhood_figure([[Panel(around, "title", "note")]], NAMES).axes[0]


def test_every_node_has_a_mark_whose_area_is_its_share(axes: Any, around: Neighbourhood) -> None:
    found = marks(axes)
    assert sorted(found) == sorted(around.nodes.tolist())
    areas = np.array(
        [polygon_area(found[n].get_path().to_polygons()[0]) for n in around.nodes.tolist()]
    )
    assert around.shares.min() > 0.003, "none is drawn larger than it is"
    assert areas / areas.sum() == pytest.approx(around.shares / around.shares.sum(), rel=0.02)


def test_a_share_too_small_to_see_is_drawn_at_the_smallest_size(around: Neighbourhood) -> None:
    weights = around.weights.copy()
    weights[:, -1] = 0.0
    drawn = marks(
        neighbourhood_figure([[Panel(replace(around, weights=weights), "")]], NAMES).axes[0]
    )
    last = drawn[int(around.nodes[-1])].get_path().to_polygons()[0]
    assert 0 < polygon_area(last) < 0.02


def test_a_mark_has_the_colour_and_shape_of_the_true_class(
    axes: Any, around: Neighbourhood
) -> None:
    for node, label in zip(around.nodes.tolist(), around.labels.tolist(), strict=True):
        patch = marks(axes)[node]
        assert to_hex(patch.get_facecolor()) == class_mark(label).colour
        corners, shape = patch.get_path().vertices[:-1], class_mark(label).points
        scale = np.ptp(corners[:, 0]) / np.ptp(shape[:, 0])
        assert corners - corners.mean(0) == pytest.approx(scale * (shape - shape.mean(0)), abs=1e-9)


def test_the_target_alone_has_a_thick_outline(axes: Any) -> None:
    thick = [node for node, patch in marks(axes).items() if patch.get_linewidth() > 2]
    thin = {patch.get_linewidth() for node, patch in marks(axes).items() if node != TARGET}
    assert thick == [TARGET]
    assert max(thin) < 1


def test_the_training_nodes_alone_have_a_star(axes: Any, around: Neighbourhood) -> None:
    stars = {line.get_gid(): line.get_marker() for line in axes.lines}
    expected = {f"train-{node}" for node in around.nodes[around.is_train]}
    assert expected
    assert set(stars) == expected
    assert set(stars.values()) == {"*"}


def test_every_edge_is_drawn_once_between_its_ends(axes: Any, around: Neighbourhood) -> None:
    lines = axes.collections[0].get_segments()
    assert len(lines) == around.edges.shape[1] // 2
    middle = {node: centre(p.get_path().to_polygons()[0]) for node, p in marks(axes).items()}
    joined = {frozenset(pair) for pair in around.nodes[around.edges].T.tolist()}
    drawn = set()
    for line in lines:
        ends = [min(middle, key=lambda n: np.linalg.norm(middle[n] - point)) for point in line]
        drawn.add(frozenset(ends))
    assert drawn == joined


def test_large_marks_hold_their_percentage(axes: Any) -> None:
    few = Neighbourhood.of(zoo_model("agnn", "lopsided"), 5, even_split(6))
    drawn = neighbourhood_figure([[Panel(few, "")]], NAMES).axes[0]
    numbers = sorted(text.get_text() for text in drawn.texts)
    assert numbers == sorted(f"{100 * share:.0f}" for share in few.shares)
    assert not axes.texts, "of thirty nodes none is large enough"


def test_the_legend_names_the_classes_that_occur_and_every_sign(around: Neighbourhood) -> None:
    found = words(neighbourhood_figure([[Panel(around, "the title", "the note")]], NAMES))
    assert {*NAMES, "target", "training node", "the title", "the note"} <= set(found)
    assert "percent of what reaches the target" in " ".join(found)
    only = replace(around, labels=np.zeros_like(around.labels), is_train=around.is_train & False)
    found = words(neighbourhood_figure([[Panel(only, "")]], NAMES))
    assert "red" in found
    assert not {"green", "blue", "training node"} & set(found)


def test_what_is_not_shown_is_counted(around: Neighbourhood) -> None:
    share = 100 * (1 - around.shares.sum())
    text = " ".join(words(neighbourhood_figure([[Panel(around, "")]], NAMES)))
    assert f"{around.left_out} near nodes are not shown; {share:.0f} % is from there" in text
    whole = Panel(replace(around, left_out=0), "")
    assert whole.caption == f"{share:.0f} % is from farther away"
    one = Panel(replace(around, left_out=1), "", "first")
    assert one.caption.startswith("first\n1 near node is not shown; ")
    alone = replace(around, left_out=0, elsewhere=np.zeros(2), weights=around.weights)
    assert Panel(alone, "").caption == ""


def test_the_panels_of_a_column_have_the_same_places_and_scale() -> None:
    both = [
        Neighbourhood.of(zoo_model(kind, "random"), TARGET, even_split(200), hops=1)
        for kind in ("agnn", "gcn")
    ]
    assert both[0].nodes.tolist() != both[1].nodes.tolist(), "the order differs, by attention"
    figure = neighbourhood_figure([[Panel(each, "") for each in both]], NAMES)
    one, other = figure.axes
    assert one.get_xlim() == other.get_xlim()
    assert one.get_ylim() == other.get_ylim()
    for node, patch in marks(one).items():
        first, second = (p.get_path().vertices[:-1] for p in (patch, marks(other)[node]))
        scale = np.ptp(first[:, 0]) / np.ptp(second[:, 0])
        shape = class_mark(node % 3).points  # its origin is where the node stands
        size = np.ptp(first[:, 0]) / np.ptp(shape[:, 0])
        assert first - size * shape == pytest.approx(second - size / scale * shape, abs=1e-9)


def test_columns_of_unequal_length_and_other_nodes_fit_one_figure(around: Neighbourhood) -> None:
    hub = Neighbourhood.of(zoo_model("agnn", "hub"), 350, even_split(701), limit=10)
    few = Neighbourhood.of(zoo_model("agnn", "random"), TARGET, even_split(200), limit=10)
    figure = neighbourhood_figure([[Panel(around, ""), Panel(few, "")], [Panel(hub, "")]], NAMES)
    assert [axes.axison for axes in figure.axes] == [True, True, True, False]
    with pytest.raises(InputError, match="at least one panel"):
        neighbourhood_figure([], NAMES)


def test_names_and_titles_are_never_formulas_or_markup(around: Neighbourhood) -> None:
    odd = ("<script>alert(1)</script>", "$\\frac{$", "a$b$")
    found = words(neighbourhood_figure([[Panel(around, "$x$ <b>", "$\\frac{$")]], odd))
    assert {*odd, "$x$ <b>"} <= set(found)


def test_a_node_without_a_label_has_a_mark_of_its_own(around: Neighbourhood) -> None:
    labels = around.labels.copy()
    labels[1] = -1
    figure = neighbourhood_figure([[Panel(replace(around, labels=labels), "")]], NAMES)
    patch = marks(figure.axes[0])[int(around.nodes[1])]
    assert to_hex(patch.get_facecolor()) == HOLLOW, "empty, so that it differs when it is small"
    assert patch.get_linewidth() > 1
    assert "no label" in words(figure)


def test_the_same_neighbourhood_gives_the_same_bytes(around: Neighbourhood) -> None:
    one, other = (svg(neighbourhood_figure([[Panel(around, "")]], NAMES)) for _ in range(2))
    assert one == other
    assert png(neighbourhood_figure([[Panel(around, "")]], NAMES))[1:4] == b"PNG"


@pytest.fixture(scope="module")
def runs(named_toy: NodeData) -> dict[str, Run]:
    short = {"agnn": {"epochs": 4, "layers": 2}, "gcn": {"epochs": 4}}
    return {
        name: evaluate(
            preset_method(name, "fixed", "toy").with_fields(**fields), named_toy, "fixed", (0, 1, 2)
        )
        for name, fields in short.items()
    }


@pytest.fixture(scope="module")
def models(runs: dict[str, Run]) -> dict[str, Run]:
    found = {}
    for name, run in runs.items():
        assert run.model is not None
        found[name.upper()] = run_of(run.model, run.data)
    return found


def test_a_contrast_has_a_column_a_target_and_a_row_a_model(
    models: dict[str, Run], runs: dict[str, Run]
) -> None:
    data = runs["agnn"].data
    targets = data.split("fixed").test[:2].tolist()
    figure = contrast_figure(models, data.split("fixed"), targets)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    expected = []
    for name in ("agnn", "gcn"):
        answers = runs[name].scores.argmax(-1)
        for node in targets:
            right = int((answers[:, node] == data.labels[node]).sum())
            expected.append(f"{name.upper()} ({right} of 3 correct), toy {data.node_ids[node]}")
    assert titles == expected
    truth = data.class_names[data.labels[targets[0]]]
    answer = int(runs["agnn"].scores[:, targets[0]].mean(0).argmax())
    note = figure.axes[0].get_xlabel()
    assert note.startswith(f"prediction: {data.class_names[answer]}\nlabel: {truth}")


def test_the_relevance_figure_shows_the_layer_that_was_asked_for(
    models: dict[str, Run],
) -> None:
    trained = models["AGNN"]
    for layer, table in enumerate(Relevance.of(trained).by_class(), start=1):
        figure = relevance_figure(trained, layer, "title")
        shown = np.ma.filled(figure.axes[0].images[0].get_array(), np.nan)
        assert shown == pytest.approx(table.numpy(), nan_ok=True)
        assert figure.axes[0].get_title(loc="left") == "title"


@pytest.mark.parametrize("layer", [0, 3])
def test_a_layer_that_the_model_has_not_is_refused(models: dict[str, Run], layer: int) -> None:
    with pytest.raises(InputError, match=rf"`layer` must be from 1 to 2; got {layer}\."):
        relevance_figure(models["AGNN"], layer, "")


def test_a_contrast_can_be_titled_and_needs_something_to_show(
    models: dict[str, Run], runs: dict[str, Run]
) -> None:
    split = runs["agnn"].data.split("fixed")
    figure = contrast_figure(models, split, [10], title="My papers")
    assert figure.axes[0].get_title(loc="left").endswith(" correct), My papers 10")
    with pytest.raises(InputError, match="must not be empty; got 2 models and 0 targets"):
        contrast_figure(models, split, [])


@pytest.fixture(scope="module")
def hub() -> Neighbourhood:
    """A picture that would leave out most of the nodes near the target."""
    run = zoo_model("agnn", "random")
    return Neighbourhood.of(run, TARGET, even_split(200), limit=5, lead=Margin.of(run, TARGET))


def test_a_hub_is_drawn_by_groups_with_the_steps_of_the_lead(hub: Neighbourhood) -> None:
    assert hub.left_out > hub.nodes.size
    figure = neighbourhood_figure([[Panel(hub, "title", "note", "contribution")]], NAMES)
    said = " ".join(words(figure))
    lines = hub_lines(hub, "contribution")
    assert hub.lead is not None
    named = [step for step in hub.lead.steps if step.nodes and step.kind != "itself"]
    assert {line.name for line in lines} == {step.name for step in named}
    assert [line.value for line in lines] == sorted((line.value for line in lines), reverse=True)
    assert all(line.number in said for line in lines)
    assert not any(patch.get_gid() for patch in figure.axes[0].patches), "no single nodes"


def test_a_tangle_of_edges_is_drawn_by_groups_too() -> None:
    run = zoo_model("agnn", "random")
    lead = Margin.of(run, TARGET)
    whole = Neighbourhood.of(run, TARGET, even_split(200), limit=200, lead=lead)
    assert whole.left_out == 0
    for count in (300, 302):
        drawn = replace(whole, edges=np.repeat(whole.edges[:, :1], count, axis=1))
        assert Panel(drawn, "").is_hub == (count == 302)


def test_the_attention_of_a_hub_is_that_of_all_nodes_by_group(hub: Neighbourhood) -> None:
    total = sum(line.value for line in hub_lines(hub, "attention"))
    assert total + hub.shares[0] == pytest.approx(1.0)
    assert sum(step.nodes for step in hub.attention_groups) >= hub.left_out + hub.nodes.size - 1
