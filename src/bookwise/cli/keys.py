"""`keys`: who may use the HTTP service, and what each of them may see."""

from typing import Annotated, Any, Literal

import typer

from bookwise.cli.output import JsonFlag, console, print_json, printable, with_app
from bookwise.domain.access import RATE_PER_MINUTE, ApiKey
from bookwise.wiring import App

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

    async def run(app: App) -> tuple[ApiKey, str, list[str]]:
        key, secret = await app.keys.create(name, role, books=book or (), origins=origin or (), rate_per_minute=rate)
        there = {found.id for found in await app.catalog.books()}
        return key, secret, [wanted for wanted in key.books if wanted not in there]

    key, secret, absent = with_app(ctx, run)
    for wanted in absent:
        typer.echo(f"Note: there is no book {wanted} yet; the key sees it once it is ingested.", err=True)
    _show_secret(key, secret, as_json=as_json)


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List all keys, oldest first; secrets are not kept and cannot be shown."""

    async def run(app: App) -> list[ApiKey]:
        return await app.keys.keys()

    found = with_app(ctx, run)
    if as_json:
        print_json({"keys": [_key_json(key) for key in found]})
    elif found:
        _show_table(found)
    else:
        console().print("There is no key yet. Run [bold]bookwise keys create NAME[/].")


def revoke(ctx: typer.Context, key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Make a key stop working, at once and for good."""

    async def run(app: App) -> ApiKey:
        return await app.keys.revoke(key_id)

    key = with_app(ctx, run)
    if as_json:
        print_json({"key": _key_json(key)})
    else:
        typer.echo(f"Key {key.id} ({printable(key.name)}) no longer works.")


def rotate(ctx: typer.Context, key_id: KeyId, as_json: JsonFlag = False) -> None:
    """Give a key a new secret and show it, this once; the old one stops working at once."""

    async def run(app: App) -> tuple[ApiKey, str]:
        return await app.keys.rotate(key_id)

    key, secret = with_app(ctx, run)
    _show_secret(key, secret, as_json=as_json)


def _show_secret(key: ApiKey, secret: str, *, as_json: bool) -> None:
    """The secret stands alone on stdout, so that a pipe gets it and nothing else."""
    if as_json:
        print_json({"key": _key_json(key), "secret": secret})
        return
    typer.echo(f"Key {key.id} ({printable(key.name)}), role {key.role}. Its secret, shown only this once:", err=True)
    typer.echo(secret)
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
    }
