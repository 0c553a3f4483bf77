"""The session ids of callers → threads. Every caller has all ids for itself."""

from hashlib import sha256
from uuid import UUID

from bookwise.domain.errors import NotFound
from bookwise.domain.threads import Thread
from bookwise.ports import ThreadStore


def thread_id_of(session_id: str, owner: str) -> str:
    """The id of the thread that stores the session. Two owners who choose the same session id have two threads, so the
    answer to an id of another owner is the same as to an unused one."""
    if not owner:
        return session_id
    return str(UUID(bytes=sha256(f"{owner} {session_id}".encode()).digest()[:16], version=4))


async def find_thread(threads: ThreadStore, session_id: str, owner: str) -> Thread:
    """The thread of the owner's session. Raises `NotFound`."""
    try:
        return await threads.thread(thread_id_of(session_id, owner), owner=owner)
    except NotFound:
        if not owner:
            raise
        return await threads.thread(session_id, owner=owner)  # stored by an earlier version
