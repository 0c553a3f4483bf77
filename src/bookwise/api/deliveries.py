"""The webhook deliveries that this process has handled."""

DELIVERIES_REMEMBERED = 1_000


class Deliveries:
    """The newest delivery ids, so that a repeated delivery is handled once."""

    def __init__(self, limit: int = DELIVERIES_REMEMBERED) -> None:
        self._limit = limit
        self._ids: dict[str, None] = {}  # in order of arrival

    def is_new(self, delivery_id: str) -> bool:
        """Records the id; returns whether it is new."""
        if delivery_id in self._ids:
            return False
        self._ids[delivery_id] = None
        if len(self._ids) > self._limit:
            del self._ids[next(iter(self._ids))]
        return True

    def forget(self, delivery_id: str) -> None:
        self._ids.pop(delivery_id, None)
