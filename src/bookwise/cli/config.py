"""`config show`: every setting, its value and where it came from."""

from dataclasses import asdict

import typer

from bookwise.cli.output import JsonFlag, console, print_json, settings_of
from bookwise.settings import show as shown_settings


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(help="Look at the settings.", no_args_is_help=True)
    group.callback()(lambda: None)
    group.command()(show)
    app.add_typer(group, name="config")


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every setting, its value and where it came from; secrets are masked."""
    settings = shown_settings(settings_of(ctx))
    if as_json:
        print_json({"settings": [asdict(setting) for setting in settings]})
        return
    from rich.table import Table

    table = Table("Setting", "Value", "From", "What it is")
    for setting in settings:
        table.add_row(setting.name, setting.value, setting.source, setting.description)
    console().print(table)
