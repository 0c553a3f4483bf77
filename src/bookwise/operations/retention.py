"""Deletes the records that are older than the settings allow."""

from datetime import UTC, datetime, timedelta

from bookwise.wiring import App

DAY_SECONDS = 86_400


async def apply_retention(app: App) -> None:
    """Deletes old questions, responses, threads and jobs. Running it twice, or in several processes, does no harm."""
    settings, now = app.settings, datetime.now(UTC)
    await app.journal.forget(before=now - timedelta(days=settings.retain_questions_days))
    await app.responses.forget(before=now - timedelta(hours=settings.retain_responses_hours))
    if settings.retain_threads_days:
        await app.threads.remove_idle(idle_seconds=settings.retain_threads_days * DAY_SECONDS)
    if settings.retain_jobs_days:
        await app.jobs.forget(before=now - timedelta(days=settings.retain_jobs_days))
