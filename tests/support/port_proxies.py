"""Proxies around real ports: one records the calls, one fails at a chosen call."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

from bookwise.ingestion.stages import IngestionKit

PORTS = ("jobs", "catalog", "index", "vectors")


class Crash(BaseException):
    """The process ends here. Like a real end, it is not an `Exception`: no error handler repairs it."""


class PortCalls:
    """Counts the calls of several ports in one order; `fail_at` makes one of them fail."""

    def __init__(self, *, fail_at: int = 0, after_effect: bool = False, error: BaseException | None = None) -> None:
        self.names: list[str] = []
        self._fail_at, self._after_effect, self._error = fail_at, after_effect, error or Crash()
        self.is_down = False

    def around(self, name: str, port: object) -> Any:
        return _Proxy(port, lambda method: partial(self._call, f"{name}.{method}"))

    def around_kit(self, kit: IngestionKit) -> IngestionKit:
        """The same kit with every port behind a proxy."""
        return replace(kit, **{name: self.around(name, getattr(kit, name)) for name in PORTS})

    async def _call(self, name: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if self.is_down:
            raise self._error  # after a crash no port answers any more
        self.names.append(name)
        fails = len(self.names) == self._fail_at
        if fails and not self._after_effect:
            raise self._down()
        result = await call(*args, **options)
        if fails:
            raise self._down()
        return result

    def _down(self) -> BaseException:
        self.is_down = isinstance(self._error, Crash)
        return self._error


class FailingMethod:
    """One method of a port fails at every call; the others work."""

    def __init__(self, method: str, error: BaseException) -> None:
        self._method, self._error = method, error

    def around(self, port: object) -> Any:
        return _Proxy(port, lambda method: self._fail if method == self._method else _pass)

    async def _fail(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        raise self._error


async def _pass(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return await call(*args, **options)


class _Proxy:
    """A port whose methods are called through what `around_method` returns for their name."""

    def __init__(self, port: object, around_method: Callable[[str], Callable[..., Any]]) -> None:
        self._port, self._around_method = port, around_method

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        return partial(self._around_method(name), value) if callable(value) else cast(Any, value)
