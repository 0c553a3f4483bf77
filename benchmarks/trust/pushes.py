"""Pushes as GitHub sends them to the webhook, and forged ones."""

import hashlib
import hmac
import json

from benchmarks.trust.service import Line, Reply

HOOK = {"github_webhook_secret": "a secret of ours", "github_repository": "owner/book"}
SECRET = HOOK["github_webhook_secret"]


def push(delivery: str) -> bytes:
    """The body of a push: another one for each delivery."""
    commit = hashlib.sha1(delivery.encode()).hexdigest()
    return json.dumps(
        {"ref": "refs/heads/main", "after": commit, "repository": {"full_name": HOOK["github_repository"]}}
    ).encode()


def signature(body: bytes, *, secret: str = SECRET, kind: str = "sha256") -> str:
    return f"{kind}={hmac.new(secret.encode(), body, kind).hexdigest()}"


async def send_push(line: Line, delivery: str, signed: str) -> Reply:
    named = {"X-GitHub-Event": "push", "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signed}
    return await line.post("/ingestion/webhook/github", push(delivery), **named)


async def deliver(line: Line, delivery: str) -> str:
    """Sends a signed push; returns what became of it."""
    reply = await send_push(line, delivery, signature(push(delivery)))
    outcome: str = reply.json.get("outcome", f"{reply.status} {reply.body.decode()}")
    return outcome


def forgeries(delivery: str) -> list[str]:
    """Signatures that are not the right one for this delivery."""
    body = push(delivery)
    right = signature(body)
    return [
        "",
        "sha256=",
        right[:-1],
        right.upper(),
        right.removeprefix("sha256="),
        f"sha256={'0' * 64}",
        signature(body + b" "),
        signature(push(f"{delivery} of another one")),
        signature(body, secret="another secret"),
        signature(body, kind="sha1"),
    ]
