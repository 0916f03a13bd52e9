"""Options of a command from a TOML file, and back.

The keys are the options without their dashes, `[set]` is a table of hyper-parameters. Everything
here is made from the command's own options: one that is added is a key of the file and of the
schema.
"""

from __future__ import annotations

import inspect
import reprlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

import typer

from agnn.errors import DataError, InputError, unknown_name
from agnn.files import check_plain, json_text, plain, write_file

_OWN: Final = frozenset({"config", "save_config", "config_schema"})
_SHOWN: Final = reprlib.Repr()  # short, however deep or long a value is
_SHOWN.maxstring = _SHOWN.maxlong = _SHOWN.maxother = 80
_Value = bool | int | float | str
# Options NAME=VALUE, which are tables in a file.
_PAIRS: Final[Mapping[str, Any]] = {
    "set": dict[str, _Value | list[_Value]],
    "class-weight": Literal["balanced"] | dict[str, float],
}


def _from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Make what the file says the defaults of the command: words on the command line win."""
    if path is not None and not context.resilient_parsing:
        context.default_map = read_config(context, path)
    return path


def _print_schema(context: typer.Context, is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(json_text(config_schema(context), indent=2))
        raise typer.Exit


Config = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with options of this command as keys; options given here win.",
        callback=_from_file,
        is_eager=True,
    ),
]
SaveConfig = Annotated[
    Path | None,
    typer.Option(
        "--save-config", help="A new TOML file for the options of this call; --config reads it."
    ),
]
ConfigSchema = Annotated[
    bool,
    typer.Option(
        "--config-schema",
        help="Print the JSON schema of --config files, for editors.",
        callback=_print_schema,
        is_eager=True,
    ),
]


def read_config(context: typer.Context, path: Path) -> dict[str, Any]:
    """The options in a file, by the names of the command's parameters.

    Raises for a key that is not an option and for a value of another type, with its path.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        check_plain(path)
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:  # bad syntax, bad UTF-8, too many digits
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"'{path}' is not a TOML file: {reason}.") from error
    _check_numbers(table, path)
    options = _options(context)
    values = {}
    for written, value in table.items():
        key = written.replace("_", "-")
        if key not in options:
            raise unknown_name(f"key in '{path}':", written, options)
        kind = options[key].kind
        try:
            TypeAdapter(kind).validate_python(value, strict=True)
        except ValidationError as error:
            where = ".".join([written, *_inside(value, error.errors()[-1]["loc"])])
            shown = _SHOWN.repr(value)
            message = f"'{path}', key `{where}`: `{written}` must be {_words(kind)}; got {shown}."
            raise InputError(message) from error
        values[options[key].name] = _as_words(key, value)
    return values


def _check_numbers(table: dict[str, Any], path: Path) -> None:
    """Raise for a whole number that TOML does not have, and Python would not print."""
    values: list[Any] = [table]
    while values:  # no recursion: the tables may be nested deeply
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise DataError(f"'{path}' has a whole number of more than 64 bits.")


def write_config(context: typer.Context, path: Path) -> None:
    """Write the options that were given, here or in another file, to a new file."""
    import tomli_w

    content: dict[str, Any] = {}
    for key, option in _options(context).items():
        source = context.get_parameter_source(option.name)
        if source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP"):
            value = context.params[option.name]
            content[key] = _as_table(key, value) if key in _PAIRS else plain(value)
    head = f"# agnn {context.command.name} --config {path.name}\n"
    write_file(path, head + tomli_w.dumps(content))


def file_of(context: typer.Context, name: str) -> Path | None:
    """The --config file that gives the parameter `name` its value; None if the user gave it."""
    source = context.get_parameter_source(name)
    is_from_file = source is not None and source.name == "DEFAULT_MAP"
    return context.params["config"] if is_from_file else None


def config_schema(context: typer.Context) -> dict[str, Any]:
    """The JSON schema of the files that `read_config` reads."""
    from pydantic import TypeAdapter

    properties = {
        key: {**TypeAdapter(option.kind).json_schema(), "description": option.help}
        for key, option in _options(context).items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"agnn {context.command.name}",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


class _Option(NamedTuple):
    name: str  # of the command's parameter
    kind: Any  # of the value in a file
    help: str


def _options(context: typer.Context) -> dict[str, _Option]:
    """The options of the command that a file may have, by key."""
    options = {}
    for name, parameter in inspect.signature(_function(context)).parameters.items():
        if name in _OWN or not hasattr(parameter.annotation, "__metadata__"):
            continue
        hint, about = get_args(parameter.annotation)[:2]
        # In an annotation typer keeps the first flag in the place of the default.
        written = (str(flag) for flag in (about.default, *(about.param_decls or ())))
        flags = [flag for flag in written if flag.startswith("--")]
        is_argument = isinstance(about, typer.models.ArgumentInfo)
        key = flags[0].removeprefix("--") if flags and not is_argument else name.replace("_", "-")
        options[key] = _Option(name, _PAIRS.get(key) or _kind(hint), about.help or "")
    return options


def _function(context: typer.Context) -> Callable[..., Any]:
    function = context.command.callback
    if function is None:
        raise InputError(f"`{context.command.name}` takes no --config.")
    return function


def _kind(hint: Any) -> Any:
    """The type of an option in a file; None is what an option has that is not given."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    kind = hint if get_origin(hint) is list else kinds[0]
    return str if kind is Path else kind


def _as_words(key: str, value: Any) -> Any:
    """A value as the command line would give it."""
    if key not in _PAIRS:
        return value
    if not isinstance(value, dict):
        return [value] if isinstance(value, str) else value
    return [f"{name}={_text(entry)}" for name, entry in value.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(entry) for entry in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_table(key: str, words: Sequence[str]) -> Any:
    """NAME=VALUE words as a table; numbers are numbers in it."""
    pairs = [
        word.rpartition("=") if key == "class-weight" else word.partition("=") for word in words
    ]
    if not all(sign for _, sign, _ in pairs):
        return words[0] if len(words) == 1 else list(words)  # --class-weight balanced
    return {name: _number(text) for name, _, text in pairs}


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _inside(value: Any, location: Sequence[Any]) -> list[str]:
    """The part of an error's location that is in the value: keys and indices, no types."""
    keys: list[str] = []
    for part in location:
        is_key = isinstance(value, dict) and part in value
        if is_key or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
            keys.append(str(part))
    return keys


def _words(kind: Any) -> str:
    return {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        list[str]: "a list of texts",
        _PAIRS["set"]: "a table of hyper-parameters",
        _PAIRS["class-weight"]: "'balanced' or a table of weights by class",
    }[kind]
