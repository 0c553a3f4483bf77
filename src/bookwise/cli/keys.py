"""`keys`: who may use the HTTP service, and what each of them may see."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from bookwise.cli.output import JsonFlag, console, execute, print_json, printable
from bookwise.domain.access import RATE_PER_MINUTE, ApiKey
from bookwise.domain.errors import InvalidInput
from bookwise.operations.keys import CreateKey, KeyWithSecret, ListKeys, RevokeKey, RotateKey

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}

KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `bookwise keys list` shows it.")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(help="Create, list, revoke and rotate the API keys of the HTTP service.", no_args_is_help=True)
    group.command()(create)
    group.command("list")(show)
    group.command()(revoke)
    group.command()(rotate)
    app.add_typer(group, name="keys")


def create(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Who or what will use the key, for example: course website.")],
    role: Annotated[Literal["reader", "admin"], typer.Option(help="Readers ask; admins also ingest.")] = "reader",
    book: Annotated[
        list[str] | None, typer.Option(help="A book it may see; repeat for more (default: all books).")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A site it works from, such as https://book.example; repeat for more (default: anywhere)."),
    ] = None,
    rate: Annotated[int, typer.Option(help="Requests a minute.")] = RATE_PER_MINUTE,
    as_json: JsonFlag = False,
) -> None:
    """Create a key and show its secret, this once."""
    books, origins = tuple(book or ()), tuple(origin or ())
    made = execute(ctx, CreateKey(name=name, role=role, books=books, origins=origins, rate_per_minute=rate))
    for wanted in made.absent:
        typer.echo(f"Note: there is no book {wanted} yet; the key sees it once it is ingested.", err=True)
    _show_secret(made, as_json=as_json)


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List all keys, oldest first; secrets are not kept and cannot be shown."""
    found = execute(ctx, ListKeys())
    if as_json:
        print_json({"keys": [_key_json(key) for key in found]})
    elif found:
        _show_table(found)
    else:
        console().print("There is no key yet. Run [bold]bookwise keys create NAME[/].")


def revoke(ctx: typer.Context, key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Make a key stop working, at once and for good."""
    key = execute(ctx, RevokeKey(key_id=key_id))
    if as_json:
        print_json({"key": _key_json(key)})
    else:
        typer.echo(f"Key {key.id} ({printable(key.name)}) no longer works.")


def rotate(
    ctx: typer.Context,
    key_id: KeyId,
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How long the old secret works on, such as 30m, 24h or 7d (default: not at all)."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Give a key a new secret and show it, this once; the old one stops working at once, or after a time of grace."""
    seconds = _seconds(grace) if grace is not None else 0
    made = execute(ctx, RotateKey(key_id=key_id, grace_seconds=seconds))
    _show_secret(made, as_json=as_json)
    if not as_json:
        until = made.key.previous_until
        gone = "the old secret no longer works; `--grace 24h` would have left a day to replace it."
        typer.echo(f"Note: {_grace(until) if until else gone}", err=True)


def _seconds(time: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", time.strip())
    if found is None:
        raise InvalidInput(f"{time!r} is no length of time.", advice="Write a number and s, m, h or d: 30m, 24h, 7d.")
    return int(found[1]) * SECONDS[found[2]]


def _show_secret(made: KeyWithSecret, *, as_json: bool) -> None:
    """The secret stands alone on stdout, so that a pipe gets it and nothing else."""
    key = made.key
    if as_json:
        print_json({"key": _key_json(key), "secret": made.secret})
        return
    typer.echo(f"Key {key.id} ({printable(key.name)}), role {key.role}. Its secret, shown only this once:", err=True)
    typer.echo(made.secret)
    typer.echo("Keep it safe, and send it with every request as `Authorization: Bearer SECRET`.", err=True)


def _show_table(found: list[ApiKey]) -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    whole = Column("Key", no_wrap=True)  # to be copied
    table = Table(whole, "Name", "Role", "Books", "Origins", "Per minute", "Created", "Revoked")
    for key in found:
        table.add_row(
            key.id,
            escape(printable(key.name)),
            key.role,
            ", ".join(key.books) or "all",
            escape(", ".join(key.origins)) or "any",
            str(key.rate_per_minute),
            f"{key.created_at:%Y-%m-%d}",
            "" if key.revoked_at is None else f"{key.revoked_at:%Y-%m-%d}",
        )
    console().print(table)
    for key in found:
        if key.previous_until is not None and key.previous_until > datetime.now(UTC):
            console().print(f"{key.id}: {_grace(key.previous_until)}", soft_wrap=True)


def _grace(until: datetime) -> str:
    return f"the old secret works until {until:%Y-%m-%d %H:%M} UTC."


def _key_json(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "books": key.books,
        "origins": key.origins,
        "rate_per_minute": key.rate_per_minute,
        "created_at": key.created_at.isoformat(),
        "revoked_at": None if key.revoked_at is None else key.revoked_at.isoformat(),
        "previous_until": None if key.previous_until is None else key.previous_until.isoformat(),
    }
