"""`config show`: every setting, its value and its source."""

from dataclasses import asdict

import typer

from bookwise.cli.output import JsonFlag, print_json, settings_of, write_entry
from bookwise.settings import show as list_settings


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(help="Show the settings.", no_args_is_help=True)
    group.callback()(lambda: None)  # keeps `config` a group although it has one command
    group.command()(show)
    app.add_typer(group, name="config")


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every setting with its value, its source and its meaning. Secrets are masked."""
    settings = list_settings(settings_of(ctx))
    if as_json:
        print_json({"settings": [asdict(setting) for setting in settings]})
        return
    for setting in settings:
        write_entry(f"{setting.name}={setting.value}", f"{setting.description} ({setting.source})")
