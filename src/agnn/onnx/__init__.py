"""Trained models as ONNX files, for programs that have neither this package nor torch."""

from agnn.onnx.model_file import export_run
from agnn.onnx.model_graph import onnx_model

__all__ = ["export_run", "onnx_model"]
