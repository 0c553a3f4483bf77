"""Runs an operation in the service that has the data folder, when a command cannot open the folder itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from bookwise import __version__
from bookwise.adapters.data_folder import running_service
from bookwise.domain.errors import DataFolderBusy
from bookwise.operations.operation import Operation
from bookwise.settings import Settings

if TYPE_CHECKING:
    from bookwise.operations.operator import Operator

T = TypeVar("T")


def hand_over(settings: Settings, busy: DataFolderBusy, operation: Operation[Any, T]) -> T:
    """Runs the operation in the service that has the data folder; raises `busy` when no service has it."""
    with operator_of(settings, busy) as operator:
        return operator.execute(operation)


@contextmanager
def operator_of(settings: Settings, busy: DataFolderBusy) -> Iterator["Operator"]:
    """A client of the service that has the data folder. Raises `busy` when another command has it."""
    service = running_service(settings.data_dir)
    if service is None:
        raise busy
    if service.version != __version__:
        raise DataFolderBusy(
            f"The service that has the data folder is Bookwise {service.version}, this command is {__version__}.",
            advice="Restart the service with the same version.",
        )
    from bookwise.operations.operator import open_operator  # loads httpx2 and pydantic: 0.2 s, only beside a service

    with open_operator(service.url, secret=service.secret) as operator:
        yield operator
