"""Facts about the served model, for people, programs and Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn import __version__
from agnn.web.api.schema import MOST_EDGES, MOST_IDS, MOST_NEW_NODES, MOST_REASONS, ModelFacts

if TYPE_CHECKING:
    from agnn.web.api.served_model import ServedModel


def model_facts(model: ServedModel) -> ModelFacts:
    """What is served, and what it can be asked."""
    opened = model.opened
    return ModelFacts(
        method=opened.method.name,
        title=opened.method.title,
        data=opened.data.name,
        nodes=opened.data.nodes,
        edges=opened.data.edges.shape[1],
        classes=list(opened.data.class_names),
        replicas=len(opened.saved.seeds),
        test_accuracy=opened.saved.config["accuracy"]["mean"],
        takes_new_nodes=model.preprocessing is not None,
        explains=model.why_no_reasons is None,
        columns=list(model.preprocessing.columns) if model.preprocessing else [],
        limits={
            "ids": MOST_IDS, "nodes": MOST_NEW_NODES, "edges": MOST_EDGES, "limit": MOST_REASONS
        },
    )  # fmt: skip


def model_numbers(facts: ModelFacts) -> dict[str, float]:
    """The facts that are numbers, by the names they have in the metrics."""
    return {
        "nodes": facts.nodes,
        "edges": facts.edges,
        "classes": len(facts.classes),
        "replicas": facts.replicas,
        "test_accuracy_ratio": facts.test_accuracy / 100,
    }


def model_words(facts: ModelFacts) -> dict[str, str]:
    """The facts that are words."""
    return {"method": facts.method, "data": facts.data, "version": __version__}
