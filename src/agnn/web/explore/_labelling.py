"""Label mode: classes that the user gives to nodes, and runs that are trained with them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from agnn.data import with_labels
from agnn.decisions import suggest
from agnn.errors import InputError
from agnn.runs import LabelFile, accuracy_before_and_after, labels_csv, load_run, retrain_plan
from agnn.web._errors import ConflictError, JsonRoute
from agnn.web.explore._explorer import Explorer, summary_record
from agnn.web.explore._label_card import GivenLabel, label_record
from agnn.web.explore._training import Training

_MOST_FOLDERS: Final = 1000
_BATCH: Final = 20  # nodes to label next
_MOST_SUGGESTED: Final = 500


class Labelling:
    """The labels of an explorer's run, kept in a file, and the training with them.

    The run itself is never changed: each training makes a new folder, `out` or the next free name
    after it, and the explorer then shows the run in it.
    """

    def __init__(
        self, explorer: Explorer, folder: Path, file: Path, out: Path, *, trust_unchecked: bool
    ) -> None:
        self.run = explorer.opened[0]
        self._explorers = {"original": explorer}
        self._shown = "original"
        self._folder = folder
        self._out = out
        self._is_trusting = trust_unchecked
        self._lock = threading.RLock()
        self._training: Training | None = None
        self._said: str | None = None  # about the last training
        self._result: dict[str, Any] | None = None
        self._version = 0  # of what is shown
        self.file = LabelFile(file, explorer.data)
        self.token = secrets.token_urlsafe()
        """What every request must carry: other users of this machine reach the server, too."""

    @property
    def explorer(self) -> Explorer:
        """The explorer of the run that is shown: the original, or the last that was trained."""
        return self._explorers[self._shown]

    def to_dict(self) -> dict[str, Any]:
        """All labels, what was given last, and where things are, as JSON values."""
        with self._lock:
            record = label_record(self.run.data, self.file.entries)
            training = self.training()
        return record | {"file": self.file.path.name, "training": training}

    def training(self) -> dict[str, Any]:
        """How far the training is, and what the last one came to."""
        with self._lock:
            now = self._training
            return {
                "is_running": now is not None,
                "done": 0 if now is None else now.done,
                "total": 0 if now is None else now.total,
                "said": self._said,
                "result": self._result,
                "version": self._version,
                "shown": self._shown,
            }

    def give(self, nodes: Sequence[int], label: int) -> None:
        """Give a class to some nodes; kept when this returns."""
        with self._lock:
            self.file.give(nodes, label)

    def undo(self) -> None:
        """Take back what was given last; kept when this returns."""
        with self._lock:
            self.file.undo()

    def suggestions(self, count: int) -> dict[str, Any]:
        """The nodes to label next, as a cohort; those that were labelled here are not in it."""
        with self._lock:
            data = with_labels(self.run.data, self.file.labels)
            predictions = self.explorer.runs[0].probabilities.argmax(1)
        unlabelled = data.nodes - data.labelled.size
        batch = suggest(data, min(count, max(unlabelled, 1)))
        return {
            "key": "next",
            "title": "What to label next",
            "about": " ".join(batch.sentences),
            "count": len(batch.nodes),
            "nodes": [suggestion.node for suggestion in batch.nodes],
            "ids": [str(suggestion.id) for suggestion in batch.nodes],
            "reasons": [f"Suggested: {suggestion.reason}." for suggestion in batch.nodes],
            "proposed": [int(predictions[suggestion.node]) for suggestion in batch.nodes],
        }

    def start(self) -> None:
        """Train with the labels in the background."""
        with self._lock:
            if self._training is not None:
                raise ConflictError("a training is under way already.")
            labels = self.file.labels
            retrain_plan(self.run, labels)  # what it refuses is said at once
            self._said = None
            self._training = Training(
                self._folder,
                labels,
                self._next_folder(),
                self._finish,
                trust_unchecked=self._is_trusting,
            )

    def cancel(self) -> None:
        """End the training, if there is one."""
        with self._lock:
            now = self._training
        if now is not None:
            now.cancel()

    def show(self, which: str) -> None:
        """Show the original run or the last that was trained."""
        with self._lock:
            if "retrained" not in self._explorers:
                raise ConflictError("nothing has been trained yet.")
            self._shown = which
            self._version += 1

    def close(self) -> None:
        """End the training and let others open the file."""
        self.cancel()
        self.file.close()

    def _next_folder(self) -> Path:
        for number in range(1, _MOST_FOLDERS):
            name = self._out.name if number == 1 else f"{self._out.name}-{number}"
            folder = self._out.with_name(name)
            if not folder.exists():
                return folder
        raise InputError(f"there are {_MOST_FOLDERS} folders like '{self._out}' already.")

    def _finish(self, message: str | None) -> None:
        """After a training: open what it wrote, unless it failed."""
        with self._lock:
            training = self._training
        try:
            if message is None and training is not None:
                self._open(training)
        except Exception as error:  # the page must hear of it, whatever it is
            message = f"The retrained run cannot be shown: {error}"
        with self._lock:
            if self._training in (None, training):  # else another has begun
                self._said = message
                self._training = None

    def _open(self, training: Training) -> None:
        original = self._explorers["original"]
        run = load_run(training.out, trust_unchecked=self._is_trusting)
        retrained = Explorer([run], layout=original.layout)
        retrained.prepare()
        before, after = accuracy_before_and_after(self.run, run)
        counts = [
            {cohort.title: int(cohort.nodes.size) for cohort in explorer.cohorts.all.values()}
            for explorer in (original, retrained)
        ]
        with self._lock:
            self._explorers["retrained"] = retrained
            self._result = {
                "folder": training.out.name,
                "labels": training.labels,
                "test": int(run.split.test.size),
                "accuracy": [summary_record(before), summary_record(after)],
                "cohorts": [[key, value, counts[1].get(key)] for key, value in counts[0].items()],
            }
            self.show("retrained")
            self._training = None  # at once with its result


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Task(_Body):
    action: Literal["start", "cancel"]


class _Shown(_Body):
    run: Literal["original", "retrained"]


def add_labelling(app: FastAPI, labelling: Labelling) -> None:
    """Add the requests of label mode: labels by GET and POST, their table, the training."""
    router = APIRouter(route_class=JsonRoute)

    @router.get("/api/labels")
    def labels() -> JSONResponse:
        return JSONResponse(labelling.to_dict())

    @router.post("/api/labels")
    def give(body: GivenLabel) -> JSONResponse:
        labelling.give(body.nodes, body.label)
        return JSONResponse(labelling.to_dict())

    @router.post("/api/labels/undo")
    def undo(_: _Body) -> JSONResponse:
        labelling.undo()
        return JSONResponse(labelling.to_dict())

    @router.get("/api/suggestions")
    def suggestions(
        count: Annotated[int, Query(ge=1, le=_MOST_SUGGESTED)] = _BATCH,
    ) -> JSONResponse:
        return JSONResponse(labelling.suggestions(count))

    @router.get("/api/labels.csv")
    def table() -> Response:
        name = f"{labelling.file.path.name.removesuffix('.jsonl')}.csv"
        quoted = "".join(k if k.isascii() and (k.isalnum() or k in "._-") else "_" for k in name)
        return Response(
            labels_csv(labelling.run.data, labelling.file.labels),
            media_type="text/csv; charset=utf-8",
            headers={"content-disposition": f'attachment; filename="{quoted}"'},
        )

    @router.get("/api/training")
    def training() -> JSONResponse:
        return JSONResponse(labelling.training())

    @router.post("/api/training")
    def train(body: _Task) -> JSONResponse:
        if body.action == "start":
            labelling.start()
        else:
            labelling.cancel()
        return JSONResponse(labelling.training())

    @router.post("/api/shown")
    def show(body: _Shown) -> JSONResponse:
        labelling.show(body.run)
        return JSONResponse(labelling.training())

    app.include_router(router)
