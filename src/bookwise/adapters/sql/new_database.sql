CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE books (
	id TEXT NOT NULL,
	title TEXT NOT NULL,
	base_url TEXT NOT NULL,
	language TEXT NOT NULL,
	source TEXT NOT NULL,
	modules TEXT NOT NULL,
	embedder TEXT NOT NULL,
	embedder_name TEXT NOT NULL,
	embedder_size INTEGER NOT NULL,
	calibration TEXT,
	last_full_ingest TEXT,
	last_incremental_update TEXT,
	generation BIGINT NOT NULL,
	created_at TEXT NOT NULL,
	CONSTRAINT pk_books PRIMARY KEY (id)
);
CREATE TABLE lessons (
	book_id TEXT NOT NULL,
	source_file TEXT NOT NULL,
	lesson_id TEXT NOT NULL,
	revision TEXT NOT NULL,
	file_hash TEXT NOT NULL,
	module TEXT NOT NULL,
	chapter BIGINT NOT NULL,
	lesson BIGINT NOT NULL,
	title TEXT NOT NULL,
	url TEXT NOT NULL,
	chunk_ids TEXT NOT NULL,
	chunk_count INTEGER NOT NULL,
	ingested_at TEXT NOT NULL,
	index_id TEXT NOT NULL, text_hashes TEXT,
	CONSTRAINT pk_lessons PRIMARY KEY (book_id, index_id, source_file),
	CONSTRAINT uq_lessons_book_id_index_id_lesson_id UNIQUE (book_id, index_id, lesson_id),
	CONSTRAINT fk_lessons_book_id FOREIGN KEY(book_id) REFERENCES books (id) ON DELETE CASCADE
);
CREATE INDEX ix_lessons_live ON lessons (book_id, index_id, revision);
CREATE TABLE jobs (
	job_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	book_id TEXT NOT NULL,
	mode TEXT NOT NULL,
	status TEXT NOT NULL,
	source TEXT NOT NULL,
	holder TEXT NOT NULL,
	total_files INTEGER DEFAULT 0 NOT NULL,
	files_processed INTEGER DEFAULT 0 NOT NULL,
	files_skipped INTEGER DEFAULT 0 NOT NULL,
	files_failed INTEGER DEFAULT 0 NOT NULL,
	files_withdrawn INTEGER DEFAULT 0 NOT NULL,
	chunks_created INTEGER DEFAULT 0 NOT NULL,
	chunks_deleted INTEGER DEFAULT 0 NOT NULL,
	queued_at TEXT NOT NULL,
	started_at TEXT,
	completed_at TEXT,
	error_message TEXT, attempt INTEGER DEFAULT 1 NOT NULL, pull BOOLEAN DEFAULT 0 NOT NULL, repeat BOOLEAN DEFAULT 0 NOT NULL, warnings TEXT DEFAULT '[]' NOT NULL,
	CONSTRAINT ck_jobs_ck_jobs_counters CHECK (total_files >= 0 AND files_processed >= 0 AND files_skipped >= 0 AND files_failed >= 0 AND files_withdrawn >= 0 AND chunks_created >= 0 AND chunks_deleted >= 0),
	CONSTRAINT ck_jobs_ck_jobs_completed_at CHECK ((completed_at IS NULL) = (status IN ('queued', 'running'))),
	CONSTRAINT ck_jobs_ck_jobs_files CHECK (status <> 'completed' OR files_processed + files_skipped = total_files)
);
CREATE INDEX ix_jobs_book_id ON jobs (book_id, job_id);
CREATE UNIQUE INDEX uq_jobs_active ON jobs (book_id) WHERE status IN ('queued', 'running');
CREATE TABLE job_outcomes (
	outcome_id INTEGER NOT NULL,
	job_id INTEGER NOT NULL,
	source_file TEXT NOT NULL,
	status TEXT NOT NULL,
	chunks_created INTEGER NOT NULL,
	chunks_deleted INTEGER NOT NULL,
	reason TEXT NOT NULL,
	message TEXT NOT NULL,
	CONSTRAINT pk_job_outcomes PRIMARY KEY (outcome_id),
	CONSTRAINT fk_job_outcomes_job_id FOREIGN KEY(job_id) REFERENCES jobs (job_id) ON DELETE CASCADE
);
CREATE INDEX ix_job_outcomes_job_id ON job_outcomes (job_id, outcome_id);
CREATE TABLE embeddings (
	fingerprint TEXT NOT NULL,
	text_hash TEXT NOT NULL,
	vector BLOB NOT NULL, checksum BIGINT, stored_at TEXT,
	CONSTRAINT pk_embeddings PRIMARY KEY (fingerprint, text_hash)
);
CREATE TABLE facts (
	"key" TEXT NOT NULL,
	value BIGINT NOT NULL,
	CONSTRAINT pk_facts PRIMARY KEY ("key")
);
CREATE TABLE conversation_threads (
	thread_id CHAR(32) NOT NULL,
	messages TEXT NOT NULL,
	created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')) NOT NULL,
	updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')) NOT NULL,
	topic_summary TEXT,
	metadata TEXT DEFAULT '{}',
	book_id TEXT NOT NULL,
	owner TEXT NOT NULL,
	archived_count INTEGER DEFAULT 0 NOT NULL,
	archived_at TEXT,
	busy_until TEXT,
	CONSTRAINT pk_conversation_threads PRIMARY KEY (thread_id)
);
CREATE INDEX idx_threads_updated ON conversation_threads (updated_at DESC);
CREATE INDEX idx_threads_created ON conversation_threads (created_at DESC);
CREATE INDEX ix_conversation_threads_owner ON conversation_threads (owner, updated_at);
CREATE INDEX ix_conversation_threads_live ON conversation_threads (updated_at) WHERE archived_at IS NULL;
CREATE TABLE archived_messages (
	thread_id CHAR(32) NOT NULL,
	position INTEGER NOT NULL,
	message TEXT NOT NULL,
	CONSTRAINT pk_archived_messages PRIMARY KEY (thread_id, position),
	CONSTRAINT fk_archived_messages_thread_id FOREIGN KEY(thread_id) REFERENCES conversation_threads (thread_id) ON DELETE CASCADE
);
CREATE TABLE api_keys (
	key_id TEXT NOT NULL,
	name TEXT NOT NULL,
	role TEXT NOT NULL,
	books TEXT NOT NULL,
	origins TEXT NOT NULL,
	rate_per_minute INTEGER NOT NULL,
	secret_hash TEXT NOT NULL,
	created_at TEXT NOT NULL,
	revoked_at TEXT, previous_hash TEXT, previous_until TEXT,
	CONSTRAINT pk_api_keys PRIMARY KEY (key_id),
	CONSTRAINT ck_api_keys_ck_api_keys_role CHECK (role IN ('reader', 'admin'))
);
CREATE UNIQUE INDEX uq_api_keys_secret_hash ON api_keys (secret_hash);
CREATE TABLE asked_questions (
	answer_id CHAR(32) NOT NULL,
	book_id TEXT NOT NULL,
	owner TEXT NOT NULL,
	thread_id CHAR(32),
	asked_at TEXT NOT NULL,
	question TEXT NOT NULL,
	outcome TEXT NOT NULL,
	reason TEXT NOT NULL,
	level TEXT NOT NULL,
	lessons TEXT NOT NULL,
	thumb TEXT,
	comment TEXT DEFAULT '' NOT NULL,
	rated_at TEXT, mark TEXT, marked_at TEXT, searched TEXT,
	CONSTRAINT pk_asked_questions PRIMARY KEY (answer_id),
	CONSTRAINT fk_asked_questions_thread_id FOREIGN KEY(thread_id) REFERENCES conversation_threads (thread_id) ON DELETE CASCADE,
	CONSTRAINT ck_asked_questions_ck_asked_questions_thumb CHECK (thumb IN ('up', 'down'))
);
CREATE INDEX ix_asked_questions_book_id ON asked_questions (book_id, asked_at);
CREATE INDEX ix_asked_questions_thread_id ON asked_questions (thread_id);
CREATE TABLE kept_responses (
	owner TEXT NOT NULL,
	idempotency_key TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	claimed_at TEXT NOT NULL,
	claimed_until TEXT NOT NULL,
	status INTEGER,
	headers TEXT,
	body BLOB,
	CONSTRAINT pk_kept_responses PRIMARY KEY (owner, idempotency_key)
);
CREATE INDEX ix_kept_responses_claimed_at ON kept_responses (claimed_at);
CREATE UNIQUE INDEX uq_api_keys_previous_hash ON api_keys (previous_hash);
CREATE TABLE webhook_deliveries (
	delivery_id TEXT NOT NULL,
	claimed_at TEXT NOT NULL,
	handled_at TEXT,
	CONSTRAINT pk_webhook_deliveries PRIMARY KEY (delivery_id)
);
CREATE INDEX ix_webhook_deliveries_claimed_at ON webhook_deliveries (claimed_at);
CREATE TABLE job_plans (
	job_id INTEGER NOT NULL,
	"plan" TEXT NOT NULL,
	CONSTRAINT pk_job_plans PRIMARY KEY (job_id),
	CONSTRAINT fk_job_plans_job_id FOREIGN KEY(job_id) REFERENCES jobs (job_id) ON DELETE CASCADE
);
CREATE TABLE job_steps (
	step_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	job_id INTEGER NOT NULL,
	kind TEXT NOT NULL,
	number INTEGER DEFAULT 0 NOT NULL,
	token INTEGER DEFAULT 0 NOT NULL,
	failures INTEGER DEFAULT 0 NOT NULL,
	claimed_until TEXT,
	CONSTRAINT fk_job_steps_job_id FOREIGN KEY(job_id) REFERENCES jobs (job_id) ON DELETE CASCADE
);
CREATE INDEX ix_job_steps_job_id ON job_steps (job_id);
CREATE TABLE job_lessons (
	step_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	file TEXT NOT NULL,
	content BLOB NOT NULL,
	CONSTRAINT pk_job_lessons PRIMARY KEY (step_id, number),
	CONSTRAINT fk_job_lessons_step_id FOREIGN KEY(step_id) REFERENCES job_steps (step_id) ON DELETE CASCADE
);
CREATE INDEX ix_asked_questions_asked_at ON asked_questions (asked_at);
CREATE TABLE validation_runs (
	run_id CHAR(32) NOT NULL,
	book_id TEXT NOT NULL,
	ran_at TEXT NOT NULL,
	engine TEXT NOT NULL,
	own_questions BOOLEAN NOT NULL,
	asked INTEGER NOT NULL,
	correct INTEGER NOT NULL,
	useful_asked INTEGER NOT NULL,
	useful INTEGER NOT NULL,
	kinds TEXT NOT NULL,
	failed TEXT NOT NULL,
	CONSTRAINT pk_validation_runs PRIMARY KEY (run_id)
);
CREATE INDEX ix_validation_runs_book_id ON validation_runs (book_id, ran_at);
INSERT INTO alembic_version VALUES ('0010')
