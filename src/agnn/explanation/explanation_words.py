"""An explanation as a short paragraph in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agnn.explanation.explanation import Explanation
    from agnn.explanation.reaching_node import ReachingNode

_NAMED: Final = 3  # neighbours, and words, that are named in a sentence


def in_words(found: Explanation) -> str:
    """Answer, neighbours, training nodes, reasons and the second class, a sentence each."""
    sentences = (_answer(found), _truth(found), _neighbours(found), _training(found),
                 _reasons(found), _second(found))  # fmt: skip
    return " ".join(each for each in sentences if each)


def percent(share: float) -> str:
    """A share of 1 in whole percent; what is nearly none or all is told from none and all."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _answer(found: Explanation) -> str:
    said = f"Node {found.id} is {found.prediction}, says {found.method}"
    sure = f"with confidence {percent(found.confidence)}"
    if found.replicas == 1:
        return f"{said} {sure}."
    others = round(found.disagreement * found.replicas)
    agree = "all agree" if not others else f"{others} of them would answer otherwise"
    return f"{said} {sure} ({found.replicas} models, {agree})."


def _truth(found: Explanation) -> str:
    if found.label < 0:
        return ""
    name = found.class_names[found.label]
    if found.trained_in > 0:
        shown = "" if found.trained_in == 1 else f" in {percent(found.trained_in)} of the models"
        return f"Its label, {name}, was given in training{shown}."
    if found.label == found.answer:
        return "That is right."
    return f"That is wrong: it is {name}."


def _neighbours(found: Explanation) -> str:
    if not found.neighbours:
        return "Nothing else reaches it: the answer comes from its own features."
    named = found.neighbours[:_NAMED]
    told = [f"{each.id} ({percent(each.weight)}{_class(each)})" for each in named]
    more = len(found.neighbours) - len(named) + found.rest.nodes
    left = 1.0 - found.itself.weight - sum(each.weight for each in named)
    rest = f"; {more:,} more {_nodes(more)} make {percent(left)}" if more else ""
    return (
        f"Its own features make {percent(found.itself.weight)} of the answer, and of the others "
        f"that reach it {_list(told)} weigh{_one(told)} most{rest}."
    )


def _training(found: Explanation) -> str:
    if not found.training:
        return "No training node reaches it."
    told = [f"{each.class_name} {percent(each.weight)}" for each in found.training[:_NAMED]]
    return f"Training nodes make this much of it: {', '.join(told)}."


def _reasons(found: Explanation) -> str:
    nodes = [_named(each) for each in found.for_answer[:_NAMED]]
    names = [each.name for each in found.features[:_NAMED] if each.toward_answer > 0]
    told = [_list(each) for each in (nodes, names) if each]
    return f"What speaks for {found.prediction} most: {'; '.join(told)}." if told else ""


def _second(found: Explanation) -> str:
    name = found.class_names[found.second]
    stated = f"Second comes {name} with {percent(float(found.probabilities[found.second]))}"
    told = [_named(each) for each in found.for_second[:_NAMED]]
    return f"{stated}, for which {_list(told)} {_speak(told)} most." if told else f"{stated}."


def _named(each: ReachingNode) -> str:
    if each.hops == 0:
        return "its own features"
    return str(each.id) if each.class_name is None else f"{each.id} ({each.class_name})"


def _class(each: ReachingNode) -> str:
    return "" if each.class_name is None else f", {each.class_name}"


def _speak(told: list[str]) -> str:
    return "speaks" if len(told) == 1 and told[0] != "its own features" else "speak"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _one(names: list[str]) -> str:
    return "s" if len(names) == 1 else ""


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"
