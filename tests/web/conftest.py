"""Applications asked without a network: a client that speaks ASGI, and an echo to ask."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from echo_application import echo

from agnn import NodeData, evaluate, get_method, read_tables, save_run
from agnn.runs import load_run
from agnn.web._asgi import Application
from agnn.web.api import ServedModel, served_application
from own_tables import write_tables


def ask(app: Application, method: str = "GET", path: str = "/", **options: Any) -> httpx.Response:
    """One request to an application, as http://localhost unless the path says otherwise."""

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(request())


@pytest.fixture(name="echo")
def _echo() -> Application:
    return echo


@pytest.fixture(name="ask")
def _ask() -> Any:
    return ask


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, toy: NodeData) -> Path:
    """Three run folders: of tables, of tables without a network, of arrays."""
    folder = tmp_path_factory.mktemp("served")
    data = read_tables(*write_tables(folder), label="topic", text="motto")
    methods = {"tables": get_method("agnn")(epochs=10), "spread": get_method("label_propagation")()}
    for name, method in methods.items():
        save_run(evaluate(method, data, "stratified", range(3)), folder / name)
    save_run(evaluate(get_method("gcn")(epochs=5), toy, "fixed", range(2)), folder / "arrays")
    return folder


@pytest.fixture(scope="session")
def served(runs: Path) -> dict[str, ServedModel]:
    """The runs, opened."""
    models = {name: ServedModel(load_run(runs / name)) for name in ("tables", "spread", "arrays")}
    for model in models.values():
        model.warm()
    return models


@pytest.fixture(scope="session")
def app(served: dict[str, ServedModel]) -> Application:
    """The run of tables as it is served."""
    return served_application(served["tables"])
