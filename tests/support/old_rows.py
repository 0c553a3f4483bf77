"""Rows as each release wrote them: the tables and columns that it knew, and no others."""

TIME = "'2026-01-02T03:04:05.000000+00:00'"
THREAD = "'550e8400e29b41d4a71644665544000{n}'"
ANSWER = "'8e03978e40d543ddbc936894a57f932{n}'"

#: Revision → the statements of the release that it belongs to. {n} makes two sets of rows differ.
ROWS: dict[str, tuple[str, ...]] = {
    "0001": (
        "INSERT INTO books (id, title, base_url, language, source, modules, embedder, embedder_name, embedder_size,"
        f" generation, created_at) VALUES ('book{{n}}', 'Bücher', '', 'en', '', '[]', 'e', 'n', 3, 1, {TIME})",
        "INSERT INTO lessons (book_id, source_file, lesson_id, revision, file_hash, module, chapter, lesson, title,"
        " url, chunk_ids, chunk_count, ingested_at, index_id) VALUES ('book{n}', 'a.md', 'l', 'r', 'h', 'm', 1, 2, 't',"
        f" '', '[\"c\"]', 1, {TIME}, 'index')",
        "INSERT INTO jobs (job_id, book_id, mode, status, source, holder, queued_at)"
        f" VALUES (10{{n}}, 'book{{n}}', 'full', 'queued', 'folder', 'index', {TIME})",
        "INSERT INTO job_outcomes (outcome_id, job_id, source_file, status, chunks_created, chunks_deleted, reason,"
        " message) VALUES (20{n}, 10{n}, 'a.md', 'processed', 1, 0, '', '')",
        "INSERT INTO embeddings (fingerprint, text_hash, vector) VALUES ('e', 'hash{n}', {bytes})",
        "INSERT INTO facts (key, value) VALUES ('fact{n}', 7)",
    ),
    "0002": (
        "INSERT INTO conversation_threads (thread_id, messages, created_at, updated_at, metadata, book_id, owner,"
        f" archived_count) VALUES ({THREAD}, '[]', {TIME}, {TIME}, '{{{{}}}}', 'book{{n}}', 'ann', 1)",
        f"INSERT INTO archived_messages (thread_id, position, message) VALUES ({THREAD}, 0, '{{{{}}}}')",
    ),
    "0003": (
        "INSERT INTO api_keys (key_id, name, role, books, origins, rate_per_minute, secret_hash, created_at)"
        f" VALUES ('key_00000000000{{n}}', 'a key', 'reader', '[]', '[]', 100, 'hash{{n}}', {TIME})",
    ),
    "0004": (
        "INSERT INTO asked_questions (answer_id, book_id, owner, thread_id, asked_at, question, outcome, reason, level,"
        f" lessons) VALUES ({ANSWER}, 'book{{n}}', 'ann', {THREAD}, {TIME}, 'why?', 'answered', '', 'high', '[]')",
        "INSERT INTO kept_responses (owner, idempotency_key, fingerprint, claimed_at, claimed_until, status, headers,"
        f" body) VALUES ('ann', 'key{{n}}', 'f', {TIME}, {TIME}, 200, '{{{{}}}}', {{bytes}})",
        "UPDATE jobs SET attempt = 2 WHERE job_id = 10{n}",
        f"UPDATE api_keys SET previous_hash = 'old{{n}}', previous_until = {TIME} WHERE secret_hash = 'hash{{n}}'",
    ),
    "0005": (
        "INSERT INTO webhook_deliveries (delivery_id, claimed_at, handled_at)"
        f" VALUES ('delivery{{n}}', {TIME}, {TIME})",
    ),
    "0006": (
        "INSERT INTO job_plans (job_id, plan) VALUES (10{n}, '{{}}')",
        "INSERT INTO job_steps (step_id, job_id, kind) VALUES (30{n}, 10{n}, 'plan')",
        "INSERT INTO job_lessons (step_id, number, file, content) VALUES (30{n}, 0, '{{}}', {bytes})",
    ),
    "0007": (
        f"UPDATE embeddings SET checksum = 3066839698, stored_at = {TIME} WHERE text_hash = 'hash{{n}}'",
        "UPDATE lessons SET text_hashes = '[\"hash{n}\"]' WHERE book_id = 'book{n}'",
    ),
    "0008": (
        f"UPDATE asked_questions SET mark = 'fixed', marked_at = {TIME} WHERE book_id = 'book{{n}}'",
        "INSERT INTO validation_runs (run_id, book_id, ran_at, engine, own_questions, asked, correct, useful_asked,"
        f" useful, kinds, failed) VALUES ({ANSWER}, 'book{{n}}', {TIME}, 'extractive', true, 2, 1, 0, 0, '[]', '[]')",
    ),
    "0009": ("UPDATE asked_questions SET searched = 'why? (node)' WHERE book_id = 'book{n}'",),
    "0010": ("UPDATE jobs SET warnings = '[\"a note\"]' WHERE book_id = 'book{n}'",),
}
BYTES = {"sqlite": "x'0102'", "postgresql": r"'\x0102'"}


def statements_of(revision: str, *, kind: str, n: int) -> list[str]:
    """What the release with this revision writes, from the first table to its newest."""
    return [
        statement.format(n=n, bytes=BYTES[kind])
        for known, statements in ROWS.items()
        if known <= revision
        for statement in statements
    ]
