"""A clock that moves only when somebody sleeps, or when told to."""


class StoppedTime:
    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
