"""A saved run's model as an ONNX file, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from agnn.errors import InputError
from agnn.files import check_new_file, write_file
from agnn.onnx.model_graph import onnx_model
from agnn.runs import SavedRun


def export_run(saved: SavedRun, path: Path | str) -> int:
    """Write the model of a loaded run to a new ONNX file; gives its size in bytes."""
    check_new_file(path)
    if saved.model is None:
        raise InputError(
            f"the run in '{saved.folder}' has no model to export: {saved.method.title} keeps none."
        )
    content: bytes = onnx_model(saved.model, saved.class_names).SerializeToString()
    write_file(path, content)
    return len(content)
