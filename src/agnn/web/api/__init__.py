"""A trained run as an HTTP API: predictions, predictions for new nodes, explanations, metrics.

`served_application(ServedModel(run), ServeOptions(...))` is an ASGI application behind all guards;
`agnn.web.server.run_server` runs it. docs/serving.md describes the operations.

>>> import agnn
>>> run = agnn.evaluate("agnn", agnn.load_dataset("cora"), changes={"epochs": 1})
>>> model = ServedModel(run)
>>> model.facts().nodes, [answer.id for answer in model.known(["1131150"]).predictions]
(2708, ['1131150'])
>>> application = served_application(model)  # FastAPI's TestClient or any ASGI server takes it
"""

from agnn.web.api._application import (
    ServeOptions as ServeOptions,
    find_token as find_token,
    served_application as served_application,
)
from agnn.web.api._served_model import ServedModel as ServedModel
