"""An operation: a request as data, run by a command itself or by the service that has the data folder.

An operation and its result travel as JSON, so both are dataclasses. `api/routes/operator.py` lists the
operations that a service runs.
"""

from typing import Protocol, TypeVar

Kit_contra = TypeVar("Kit_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Operation(Protocol[Kit_contra, Result_co]):
    """One use case. `kit` holds the ports it runs on."""

    async def run(self, kit: Kit_contra, /) -> Result_co: ...
