"""Errors by their code: what ended a job, or what a service reported, becomes the exception that it was."""

from bookwise.domain.errors import BadLesson, BookwiseError, Conflict, ModelUnavailable, Unavailable


def job_error(job_id: int, message: str) -> BookwiseError:
    """The error that a command running the job itself would have raised."""
    code, separator, detail = message.partition(": ")
    if separator and code in _error_types(BookwiseError):
        return error_with_code(code, detail, advice=f"`bookwise jobs {job_id}` shows what was done.")
    return Conflict(f"Job {job_id} has failed: {message}.", advice="Start the ingestion again to continue.")


def error_with_code(code: str, message: str, *, advice: str, reason: str = "") -> BookwiseError:
    kind = _error_types(BookwiseError).get(code, Unavailable)
    if issubclass(kind, BadLesson | ModelUnavailable):
        return kind(reason, message, advice=advice)
    return kind(message, advice=advice)


def _error_types(kind: type[BookwiseError]) -> dict[str, type[BookwiseError]]:
    """Every error class by its code."""
    types = {kind.__new__(kind).code: kind}
    for child in kind.__subclasses__():
        types |= _error_types(child)
    return types
