"""The name of a response's shape → an example of it, for /openapi.json."""

from typing import Any

SESSION = "550e8400-e29b-41d4-a716-446655440000"
ANSWER_ID = "7d1c2a34-0b5e-4f6a-9c8d-1e2f3a4b5c6d"
CHUNK_ID = "5b0b4b0e-93e1-5a2c-8f0e-3c1d2b7a9e10"
LESSON_ID = "0f4c1c59-7f0a-5d7e-9a51-6f2b8c3d4e5f"
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0bb2ca0f0f3e0b6b2a1c3d"
MOMENT = "2026-03-29T12:00:00.123Z"
BOOK = "physical-ai-robotics"
TEXT = "A node is a process that performs computation. Nodes communicate over topics."
URL = "https://book.example/ros2/nodes#what-a-node-is"
FILE = "ros2/01-nodes.md"

SOURCE = {
    "chunk_text": TEXT,
    "similarity_score": 0.84,
    "chapter": "ROS 2",
    "section": "What a node is",
    "url": URL,
    "chunk_index": 0,
    "number": 1,
    "chunk_id": CHUNK_ID,
    "quote": "A node is a process that performs computation.",
    "page_title": "Nodes",
    "cosine": 0.61,
}
METRICS = {
    "average_similarity": 0.84,
    "min_similarity": 0.79,
    "max_similarity": 0.9,
    "num_chunks": 3,
    "chunk_diversity": 0.4,
    "confidence_level": "medium",
    "should_answer": True,
}
ANSWER: dict[str, Any] = {
    "response": "A node is a process that performs computation. [1]",
    "confidence": 0.84,
    "sources": [SOURCE],
    "session_id": SESSION,
    "timestamp": MOMENT,
    "confidence_level": "medium",
    "should_answer": True,
    "outcome": "answered",
    "reason": None,
    "metrics": METRICS,
    "grounding": {"supported": 1.0, "unsupported": [], "unsupported_citations": 0},
    "disclaimer": None,
    "nearest": [],
    "degraded": None,
    "truncated": False,
    "answer_id": ANSWER_ID,
}
MESSAGES = [
    {"role": "user", "content": "What is a node?", "timestamp": MOMENT},
    {"role": "assistant", "content": ANSWER["response"], "timestamp": MOMENT, "confidence": 0.84},
]
CHUNK = {
    "id": CHUNK_ID,
    "text": TEXT,
    "metadata": {
        "book_id": BOOK,
        "module": "ros2",
        "chapter": 1,
        "lesson": 1,
        "section_title": "What a node is",
        "hardware_tier": 1,
        "proficiency_level": "A2",
        "layer": "L1",
        "source_file": FILE,
        "parent_doc_id": LESSON_ID,
        "chunk_index": 0,
        "total_chunks": 1,
        "prev_chunk_id": None,
        "next_chunk_id": None,
        "content_hash": HASH,
        "source_file_hash": HASH,
        "version": 1,
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "page_title": "Nodes",
        "url": URL,
        "anchor": "what-a-node-is",
        "breadcrumb": ["ROS 2", "Nodes"],
    },
    "word_count": 12,
    "token_count": 14,
    "char_count": 77,
}
HIT = {
    "chunk_id": CHUNK_ID,
    "text": TEXT,
    "score": 0.84,
    "cosine": 0.61,
    "lexical": 0.9,
    "source_file": FILE,
    "section_title": "What a node is",
    "module": "ros2",
    "chapter": 1,
    "lesson": 1,
    "hardware_tier": 1,
    "proficiency_level": "A2",
    "layer": "L1",
    "chunk_index": 0,
    "total_chunks": 1,
    "parent_doc_id": LESSON_ID,
    "prev_chunk_id": None,
    "next_chunk_id": None,
    "content_hash": HASH,
    "page_title": "Nodes",
    "url": URL,
    "anchor": "what-a-node-is",
    "breadcrumb": ["ROS 2", "Nodes"],
}
JOB = {
    "job_id": 7,
    "book_id": BOOK,
    "mode": "incremental",
    "status": "completed",
    "total_files": 29,
    "files_processed": 1,
    "files_skipped": 28,
    "files_failed": 0,
    "files_withdrawn": 0,
    "chunks_created": 12,
    "chunks_deleted": 11,
    "started_at": MOMENT,
    "completed_at": "2026-03-29T12:00:02Z",
    "duration_seconds": 2,
    "error_message": None,
}
MODEL = {"id": BOOK, "object": "model", "created": 1774785600, "owned_by": "bookwise", "name": "Physical AI"}
WELL = {"ok": True, "latency_ms": 0.4, "code": None}

RESPONSES: dict[str, Any] = {
    "ChatResponse": ANSWER,
    "ConversationThread": {
        "thread_id": SESSION,
        "messages": MESSAGES,
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "topic_summary": None,
        "metadata": {},
        "book_id": BOOK,
    },
    "HistoryResponse": {"session_id": SESSION, "messages": MESSAGES, "total": 2, "limit": 50, "offset": 0},
    "SearchResponse": {
        "query": "What is a node?",
        "results": [HIT],
        "total_found": 1,
        "hardware_tier_filter": 1,
        "module_filter": None,
        "book_id": BOOK,
        "timings": {"embed_ms": 6.1, "index_ms": 2.3, "total_ms": 8.6},
    },
    "ContextResponse": {"chunk": CHUNK, "before": [], "after": []},
    "LessonResponse": {
        "parent_doc_id": LESSON_ID,
        "book_id": BOOK,
        "title": "Nodes",
        "source_file": FILE,
        "url": "https://book.example/ros2/nodes",
        "chunks": [CHUNK],
    },
    "BooksResponse": {
        "books": [
            {
                "id": BOOK,
                "title": "Physical AI",
                "language": "en",
                "base_url": "https://book.example",
                "modules": [{"name": "ros2", "title": "ROS 2", "aliases": []}],
                "embedder": "all-MiniLM-L6-v2",
                "lessons": 29,
                "chunks": 214,
                "last_ingested": MOMENT,
            }
        ]
    },
    "ModelCard": MODEL,
    "ModelList": {"object": "list", "data": [MODEL]},
    "ChatCompletion": {
        "id": "chatcmpl-6f1d7c0a2b3e4d5f8a9b0c1d2e3f4a5b",
        "object": "chat.completion",
        "created": 1774785600,
        "model": BOOK,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": f"{ANSWER['response']}\n\n---\n**Sources:**\n\n- [1] [Nodes](<{URL}>)",
                    "refusal": None,
                    "annotations": [
                        {
                            "type": "url_citation",
                            "url_citation": {"start_index": 47, "end_index": 50, "title": "Nodes", "url": URL},
                        }
                    ],
                },
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        "bookwise": {
            "answer_id": ANSWER_ID,
            "outcome": "answered",
            "reason": None,
            "confidence": "medium",
            "engine": "extractive",
            "degraded": None,
        },
    },
    "IngestionJob": JOB,
    "JobStatusResponse": {
        "job": JOB,
        "lessons": [
            {
                "source_file": FILE,
                "status": "published",
                "chunks_created": 12,
                "chunks_deleted": 11,
                "reason": "",
                "message": "",
            }
        ],
    },
    "JobsResponse": {"jobs": [JOB]},
    "ChangesResponse": {
        "book_id": BOOK,
        "new": [],
        "modified": [FILE],
        "deleted": [],
        "unchanged": 28,
        "unreadable": [],
    },
    "WebhookReceipt": {"outcome": "accepted", "job": JOB},
    "HealthResponse": {
        "live": True,
        "ready": True,
        "dependencies": {"database": WELL, "index": WELL, "embedder": WELL},
    },
    "InfoResponse": {
        "name": "bookwise",
        "version": "0.1.0",
        "engine": "extractive",
        "engines": ["extractive"],
        "models": {"embedder": "all-MiniLM-L6-v2", "embedder_size": 384, "language_model": None},
        "counts": {"books": 1, "lessons": 29, "chunks": 214},
        "question_max_characters": 1000,
        "body_limit_bytes": 524288,
    },
}
