"""Messages to the workers: rows of the queue library's table, written in the transaction that creates a step.

A message is only a hint to look at a step. Whether the step may be run is decided by its claim.
"""

import hashlib

from sqlalchemy import Connection, text

STEP_TASK = "bookwise.run_step"  #: name of the task in the queue library

#: Lessons that may have stopped a worker come after this many batches. Workers that are killed for other reasons then
#: seldom meet the same lesson again, and a lesson that kills them delays no other.
_SUSPECT_DELAY = 1_000_000

# Batches of several jobs take turns: the first batch of each has the same priority.
_ENQUEUE = text(
    f"""
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock, args)
    SELECT :queue, '{STEP_TASK}', -step.number - {_SUSPECT_DELAY} * step.failures, 'bookwise step ' || step.step_id,
           jsonb_build_object('step_id', step.step_id)
    FROM job_steps AS step JOIN jobs USING (job_id)
    WHERE jobs.holder = :holder AND jobs.status IN ('queued', 'running')
      AND (step.claimed_until IS NULL OR step.claimed_until < clock_timestamp())
      AND (CAST(:job_id AS integer) IS NULL OR step.job_id = :job_id)
    ORDER BY step.step_id
    ON CONFLICT DO NOTHING
    """
)


def queue_of(holder: str) -> str:
    """The queue for the workers of one index. Names of notifications have at most 63 bytes, the library's included."""
    return f"bookwise-{hashlib.sha256(holder.encode()).hexdigest()[:16]}"


def enqueue_steps(connection: Connection, holder: str, job_id: int | None = None) -> int:
    """Queues the steps of one job, or of all jobs of the index, that no worker holds; returns how many were not queued
    yet."""
    values = {"queue": queue_of(holder), "holder": holder, "job_id": job_id}
    return connection.execute(_ENQUEUE, values).rowcount
