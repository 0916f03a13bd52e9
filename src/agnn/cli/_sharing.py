"""`agnn push` and `agnn pull`: runs in a Hugging Face repository or a shared folder."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import Json

Repository = Annotated[
    str,
    typer.Argument(help="OWNER/NAME at Hugging Face, or a folder, written as a path (./NAME)."),
]


def push(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    repository: Repository,
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody read a repository that is made.")
    ] = False,
    json: Json = False,
) -> None:
    """Upload a run to a Hugging Face repository, with its model card.

    The run holds the graph it was trained on, with ids, unless that comes with the package. The
    token is that of `hf auth login` or the variable HF_TOKEN.
    """
    from agnn import hub

    address = hub.push(run, repository, public=public)
    if json:
        write_json({"run": str(run), "repository": address, "public": public})
        return
    screen().print(f"{run} is in {address}", soft_wrap=True)


def pull(
    repository: Repository,
    out: Annotated[
        Path | None, typer.Option(help="A new folder.", show_default="the repository's name")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="A branch, tag or commit.", show_default="main")
    ] = None,
    json: Json = False,
) -> None:
    """Download a run from a Hugging Face repository into a new folder, and check it."""
    from agnn import hub

    folder = Path(Path(repository).name) if out is None else out
    run = hub.pull(repository, folder, revision=revision)
    if json:
        write_json({"repository": repository, "out": str(folder), **run.to_dict()})
        return
    screen().print(f"{run!r} is in {folder}", soft_wrap=True, markup=False)
