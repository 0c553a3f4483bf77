"""`keys`: create, list, revoke and rotate the API keys of the HTTP service."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from bookwise.cli.output import JsonFlag, console, execute_on_records, print_json, printable, write_entry
from bookwise.domain.access import RATE_PER_MINUTE, ApiKey
from bookwise.domain.errors import InvalidInput
from bookwise.operations.keys import CreateKey, KeyWithSecret, ListKeys, RevokeKey, RotateKey

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}

KeyId = Annotated[str, typer.Argument(metavar="ID", help="Key id, as shown by `bookwise keys list`.")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(help="Manage the API keys of the HTTP service.", no_args_is_help=True)
    group.command()(create)
    group.command("list")(show)
    group.command()(revoke)
    group.command()(rotate)
    app.add_typer(group, name="keys")


def create(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Who or what uses the key, such as `course website`.")],
    role: Annotated[
        Literal["reader", "admin"], typer.Option(help="Readers search and ask; admins also ingest and remove books.")
    ] = "reader",
    book: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Book the key may read; repeat for more (default: all books)."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Site whose pages may use the key, such as https://book.example; repeat for more (default: any).",
        ),
    ] = None,
    rate: Annotated[int, typer.Option(help="Maximum requests per minute.")] = RATE_PER_MINUTE,
    as_json: JsonFlag = False,
) -> None:
    """Create a key and show its secret. The secret cannot be shown again."""
    books, origins = tuple(book or ()), tuple(origin or ())
    created = execute_on_records(
        ctx, CreateKey(name=name, role=role, books=books, origins=origins, rate_per_minute=rate)
    )
    for book_id in created.absent:
        note = f"Note: there is no book {book_id} yet. The key can read it after it is ingested."
        typer.echo(printable(note), err=True)
    _show_secret(created, as_json=as_json)


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List all keys, oldest first. Secrets are not stored and cannot be shown."""
    keys = execute_on_records(ctx, ListKeys())
    if as_json:
        print_json({"keys": [_key_json(key) for key in keys]})
        return
    if not keys:
        console().print("There is no key yet. Run [bold]bookwise keys create NAME[/].")
    for key in keys:
        write_entry(f"{key.id}  {key.name}", *_details(key))


def revoke(ctx: typer.Context, key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Revoke a key. It stops working immediately and cannot be restored."""
    key = execute_on_records(ctx, RevokeKey(key_id=key_id))
    if as_json:
        print_json({"key": _key_json(key)})
    else:
        typer.echo(f"Key {key.id} ({printable(key.name)}) no longer works.")


def rotate(
    ctx: typer.Context,
    key_id: KeyId,
    grace: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long the old secret still works, such as 30m, 24h or 7d (default: 0)."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Give a key a new secret and show it. The old secret stops working immediately, or after --grace."""
    seconds = _seconds(grace) if grace is not None else 0
    rotated = execute_on_records(ctx, RotateKey(key_id=key_id, grace_seconds=seconds))
    _show_secret(rotated, as_json=as_json)
    if not as_json:
        until = rotated.key.previous_until
        expired = "the old secret no longer works. Use `--grace 24h` next time to have a day to replace it."
        typer.echo(f"Note: {_grace(until) if until else expired}", err=True)


def _seconds(time: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", time.strip())
    if match is None:
        raise InvalidInput(
            f"--grace is {time!r}, which is not a duration.",
            advice="Use a number followed by s, m, h or d, such as 30m, 24h or 7d.",
        )
    return int(match[1]) * SECONDS[match[2]]


def _show_secret(issued: KeyWithSecret, *, as_json: bool) -> None:
    """Only the secret goes to stdout, so that a pipe gets nothing else."""
    key = issued.key
    if as_json:
        print_json({"key": _key_json(key), "secret": issued.secret})
        return
    typer.echo(f"Key {key.id} ({printable(key.name)}), role {key.role}. Its secret, shown only now:", err=True)
    typer.echo(issued.secret)
    typer.echo("Store it safely. Send it with every request as `Authorization: Bearer SECRET`.", err=True)


def _details(key: ApiKey) -> list[str]:
    state = "active" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}"
    details = [
        f"{key.role}, {key.rate_per_minute} requests per minute, created {key.created_at:%Y-%m-%d}, {state}",
        f"books: {', '.join(key.books) or 'all'}",
        f"origins: {', '.join(key.origins) or 'any'}",
    ]
    if key.previous_until is not None and key.previous_until > datetime.now(UTC):
        details.append(_grace(key.previous_until))
    return details


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
