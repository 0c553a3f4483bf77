"""What caused an error."""


def is_caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether the error is of this kind, or was raised while one of this kind was handled."""
    while error is not None:
        if isinstance(error, kind):
            return True
        if isinstance(error, BaseExceptionGroup) and any(is_caused_by(one, kind) for one in error.exceptions):
            return True
        error = error.__cause__ or error.__context__
    return False
