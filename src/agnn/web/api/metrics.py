"""Counts and seconds by route, in the text format that Prometheus reads."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


class Metrics:
    """What has been asked so far, and how long it took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[tuple[str, str]] = Counter()
        self._started = time.time()

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests[route, method, status] += 1
        self._seconds[route, method] += seconds  # type: ignore[assignment]

    def text(self, facts: Mapping[str, float], info: Labels) -> str:
        """Everything, with numbers about the model by name and words about it as labels."""
        ordered = sorted(self._requests.items())
        requests = [({"route": r, "method": m, "status": str(s)}, n) for (r, m, s), n in ordered]
        seconds = [({"route": r, "method": m}, s) for (r, m), s in sorted(self._seconds.items())]
        families = [
            _family("agnn_requests_total", "counter", "Requests answered.", requests),
            _family("agnn_request_seconds_total", "counter", "Time spent on them.", seconds),
            _family("agnn_start_time_seconds", "gauge", "Since when.", [({}, self._started)]),
            _family("agnn_model_info", "gauge", "What is served.", [(info, 1)]),
        ]
        families += [
            _family(f"agnn_model_{name}", "gauge", "A fact about the model.", [({}, value)])
            for name, value in facts.items()
        ]
        return "".join(families)


def _family(name: str, kind: str, words: str, samples: Iterable[tuple[Labels, float]]) -> str:
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
