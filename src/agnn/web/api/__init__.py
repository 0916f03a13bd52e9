"""A trained model behind HTTP: questions in, answers with their confidence and reasons out."""

from agnn.web.api.application import ServeOptions, served_application
from agnn.web.api.served_model import ServedModel

__all__ = ["ServeOptions", "ServedModel", "served_application"]
