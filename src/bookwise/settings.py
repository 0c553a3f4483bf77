"""Environment, `.env` and `bookwise.toml` → Settings: the only reader of the environment."""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bookwise import settings_formats as formats
from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from pydantic import SecretStr

PREFIX = "BOOKWISE_"
OPENAI_URL = "https://api.openai.com/v1"
ASK_TEMPERATURE = 0.1  #: of a single question, unless `temperature` is set
COHERE_URL = "https://api.cohere.com"
TOML_FILE = "bookwise.toml"
TOML_TABLE = "settings"
NAME, TEXT, LIMITS, CHECK = "environment_name", "description", "limits", "check"

QuantizationSetting = Literal["none", "scalar", "turbo"]
EngineSetting = Literal["auto", "extractive", "direct", "agent"]


def _setting(
    default: Any, text: str, *, name: str | None = None, check: Callable[[Any], Any] | None = None, **limits: Any
) -> Any:
    """A setting. `limits` are pydantic constraints; `check` raises ValueError or returns the final value."""
    return dataclasses.field(default=default, metadata={NAME: name, TEXT: text, LIMITS: limits, CHECK: check})


def _unprefixed_setting(name: str, default: Any, text: str, **more: Any) -> Any:
    """A setting under its own name, without the BOOKWISE_ prefix."""
    return _setting(default, text, name=name, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. An unknown name or an invalid value raises `Misconfigured` at start."""

    data_dir: Path = _setting(Path(".bookwise"), "Data folder: index, database and threads.")
    cache_dir: Path | None = _setting(
        None, "Folder for files that can be rebuilt, such as the compiled model. Default: the user's cache folder."
    )
    embedder: str = _setting(
        "minilm",
        "Embedder that turns text into vectors: minilm, openai, cohere or fastembed:MODEL.",
        check=formats.embedder,
    )
    model_dir: Path | None = _setting(
        None,
        "Folder with the files of the local embedding model. Default: the package bookwise-minilm, or a download by "
        "fastembed.",
    )
    embedding_size: int | None = _setting(
        None,
        "Numbers per vector of the openai or cohere embedder. Default: the size of the model, if Bookwise knows it.",
        ge=1,
        le=65_536,
    )
    reranker: str | None = _setting(
        None,
        "Model that reorders the results of a search: fastembed:MODEL, cohere:MODEL or openai:MODEL. Default: none.",
        check=formats.reranker,
    )
    reranker_dir: Path | None = _setting(
        None, "Folder with the files of a fastembed reranker. Default: a download by fastembed."
    )
    rerank_timeout_seconds: float = _setting(
        5.0, "Timeout of the reranker. A search then keeps its own order.", gt=0, le=600
    )
    embed_workers: int = _setting(0, "Number of embedding threads; 0 means one per core.", ge=0, le=256)
    site_allow_private: bool = _setting(False, "Allow ingesting sites on private or loopback addresses.")
    site_max_pages: int = _setting(2_000, "Maximum number of pages fetched from a site.", ge=1, le=100_000)
    embed_timeout_seconds: float = _setting(60.0, "Timeout of an embedding call, including retries.", gt=0, le=600)
    engine: EngineSetting = _setting(
        "auto", "Engine that writes answers. auto: direct when OPENAI_API_KEY is set, extractive otherwise."
    )
    temperature: float | None = _setting(
        None,
        "Temperature of the language model. Default: 0 in a chat, 0.1 for a single question.",
        ge=0.0,
        le=1.0,
    )
    max_tokens: int | None = _setting(
        None, "Maximum length of a model's answer, in tokens. Default: the model's own limit.", ge=1, le=1_000_000
    )
    answer_timeout_seconds: float = _setting(60.0, "Timeout of one answer, including retries.", gt=0, le=600)
    unsupported: Literal["drop", "mark"] = _setting("drop", "What to do with unsupported sentences: drop or mark.")
    keep_questions: bool = _setting(
        True, "Store readers' questions for `bookwise insights`. false: store only the counts."
    )
    retain_questions_days: int = _setting(90, "Days after which readers' questions are deleted.", ge=1, le=90)
    retain_threads_days: int = _setting(365, "Days after which an unused thread is deleted; 0: never.", ge=0, le=36_500)
    retain_jobs_days: int = _setting(90, "Days after which an ended job is deleted; 0: never.", ge=0, le=36_500)
    retain_responses_hours: int = _setting(
        24, "Hours for which the response to an `Idempotency-Key` is stored.", ge=1, le=8_760
    )
    log_questions: bool = _setting(False, "Include the text of questions in the service log.")

    host: str = _setting("127.0.0.1", "Address that `bookwise serve` listens on.", min_length=1)
    port: int = _setting(8000, "Port that `bookwise serve` listens on; 0 picks a free one.", ge=0, le=65535)
    drain_seconds: float = _setting(
        0.0,
        "How long `bookwise serve` still answers after SIGTERM, while /health/ready says 503, before it stops.",
        ge=0,
        le=600,
    )
    header_timeout_seconds: int = _setting(10, "Time that a client has to send the head of a request.", ge=1, le=3600)
    idle_timeout_seconds: int = _setting(5, "Time that a connection stays open between two requests.", ge=1, le=3600)
    max_connections: int = _setting(
        2_000, "Maximum number of open connections. Fewer when the process may open fewer files.", ge=1, le=100_000
    )
    queue_seconds: float = _setting(
        4.0, "Longest time that a question waits for its turn. Questions that would wait longer get 503.", ge=0, le=600
    )
    cors_origins: tuple[str, ...] = _setting(
        (),
        "Origins whose pages may call the service, such as https://book.example; comma-separated.",
        check=formats.origins,
    )
    worker_lease_seconds: float = _setting(
        30.0, "Time after which another worker takes over the work of one that does not respond.", ge=1, le=3600
    )
    worker_batch_seconds: float = _setting(
        300.0, "Longest time for one batch of lessons in `bookwise worker`.", ge=1, le=86_400
    )
    body_limit_bytes: int = _setting(
        64 * 1024, "Maximum size of a request body. A GitHub webhook may have 25 MiB.", ge=1024, le=64 * 1024 * 1024
    )

    otel_endpoint: str | None = _unprefixed_setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        None,
        "URL of an OpenTelemetry collector (OTLP over HTTP). Default: no telemetry.",
        check=formats.http_url,
    )
    otel_texts: bool = _setting(False, "Also send questions, passages and answers to the collector.")

    openai_api_key: SecretStr | None = _unprefixed_setting(
        "OPENAI_API_KEY", None, "API key of the OpenAI-compatible endpoint.", check=formats.one_line
    )
    openai_model: str = _unprefixed_setting(
        "OPENAI_MODEL", "gpt-4o-mini", "Language model that writes answers.", min_length=1
    )
    openai_base_url: str = _unprefixed_setting(
        "OPENAI_BASE_URL", OPENAI_URL, "URL of the OpenAI-compatible endpoint.", check=formats.http_url
    )
    openai_embedding_model: str = _setting("text-embedding-3-small", "Embedding model of OpenAI.", min_length=1)
    cohere_api_key: SecretStr | None = _unprefixed_setting(
        "COHERE_API_KEY", None, "API key of Cohere.", check=formats.one_line
    )
    cohere_model: str = _unprefixed_setting(
        "COHERE_MODEL", "embed-english-v3.0", "Embedding model of the Cohere embedder.", min_length=1
    )
    cohere_base_url: str = _setting(COHERE_URL, "URL of the Cohere API.", check=formats.http_url)
    qdrant_url: str | None = _unprefixed_setting(
        "QDRANT_URL",
        None,
        "URL of a Qdrant server. Default: the index is in the data folder.",
        check=formats.qdrant_server,
    )
    qdrant_api_key: SecretStr | None = _unprefixed_setting(
        "QDRANT_API_KEY", None, "API key of the Qdrant server.", check=formats.one_line
    )
    qdrant_timeout_seconds: float = _setting(
        10.0,
        "Timeout of one read from the Qdrant server, including retries. A write may take six times as long.",
        gt=0,
        le=600,
    )
    qdrant_replication_factor: int = _setting(
        1, "Number of copies of a new collection on a Qdrant cluster.", ge=1, le=100
    )
    qdrant_shard_number: int = _setting(
        1,
        "Number of shards of a new collection on a Qdrant server. With more than one, word scores differ by shard.",
        ge=1,
        le=1_000,
    )
    qdrant_quantization: QuantizationSetting = _setting(
        "scalar",
        "Small copies of the vectors that a Qdrant server keeps in memory: scalar (8 bits), turbo (2 bits) or none.",
    )
    qdrant_on_disk: bool = _setting(False, "Leave the vectors of a new collection on the disk of the Qdrant server.")
    qdrant_read_consistency: str | None = _setting(
        None,
        "Replicas of a Qdrant cluster that must agree on a read: a number, majority, quorum or all. "
        "Default: one replica answers.",
        check=formats.consistency,
    )
    qdrant_collection_name: str = _unprefixed_setting(
        "QDRANT_COLLECTION_NAME",
        "textbook_chunks",
        "Collection that stores the chunks; on a Qdrant server an alias.",
        pattern=r"^[\w-]{1,64}$",
    )
    database_url: SecretStr | None = _unprefixed_setting(
        "DATABASE_URL",
        None,
        "URL of a PostgreSQL or SQLite database. Default: a SQLite file in the data folder.",
        check=formats.one_line,
    )
    agent_top_k: int = _unprefixed_setting("AGENT_TOP_K", 5, "Number of chunks retrieved for an answer.", ge=1, le=100)
    agent_score_threshold: float = _unprefixed_setting(
        "AGENT_SCORE_THRESHOLD", 0.0, "Minimum similarity of a retrieved chunk.", ge=0.0, le=1.0
    )
    agent_max_turns: int = _unprefixed_setting(
        "AGENT_MAX_TURNS",
        50,
        "Turns of a conversation that are read for a follow-up. If set, `bookwise chat` stops there (default: 20).",
        ge=1,
        le=1_000,
    )
    min_relevance_score: float = _unprefixed_setting(
        "MIN_RELEVANCE_SCORE", 0.3, "Minimum similarity for high confidence in `ask`.", ge=0.0, le=1.0
    )

    github_webhook_secret: SecretStr | None = _unprefixed_setting(
        "GITHUB_WEBHOOK_SECRET",
        None,
        "Secret that GitHub signs webhook deliveries with. Default: the webhook is off.",
        check=formats.one_line,
    )
    github_repository: str | None = _unprefixed_setting(
        "GITHUB_REPOSITORY", None, "Repository whose pushes are ingested, such as owner/book."
    )
    github_branch: str = _unprefixed_setting("GITHUB_BRANCH", "main", "Branch whose pushes are ingested.", min_length=1)

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in FIELDS}
        for name, value in _validate(values).items():
            object.__setattr__(self, name, value)

    @property
    def needs_data_folder(self) -> bool:
        """Whether the index or the database is in the data folder. If both are on servers, no folder is used."""
        database = self.database_url.get_secret_value() if self.database_url else ""
        return self.qdrant_url is None or not database.startswith("postgres")

    @property
    def cache_folder(self) -> Path:
        """Where rebuildable files are stored."""
        return self.cache_dir or _user_cache() or self.data_dir / "cache"


FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def _validate(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from their default, validated. Paths need no validation: the fastest commands set
    nothing else, and do not load pydantic."""
    changed = {
        name: value
        for name, value in values.items()
        if value is not FIELDS[name].default and not isinstance(value, Path)
    }
    if not changed:
        return {}
    from bookwise.settings_checks import SettingRule, check_values  # loads pydantic: 0.1 s

    parts = {name: value.split(",") if _is_list(name, value) else value for name, value in changed.items()}
    rules = {name: SettingRule(FIELDS[name].metadata[LIMITS], FIELDS[name].metadata[CHECK]) for name in changed}
    result = check_values(Settings, parts, rules)
    if result.problems:
        raise Misconfigured(
            "; ".join(f"{env_name(name)}: {problem}" for name, problem in result.problems) + ".",
            advice="Correct or unset it. The settings reference lists the allowed values.",
        )
    return result.values


def _is_list(name: str, value: Any) -> bool:
    return isinstance(value, str) and isinstance(FIELDS[name].default, tuple)


def _user_cache() -> Path | None:
    if root := os.environ.get("XDG_CACHE_HOME"):
        return Path(root) / "bookwise"
    home = os.environ.get("HOME")
    return Path(home) / ".cache" / "bookwise" if home else None


def foreign_environment() -> dict[str, str]:
    """The environment for another program, without Bookwise's settings, which may be secrets."""
    own = {env_name(field) for field in FIELDS}
    return {name: value for name, value in os.environ.items() if name not in own}


def load_settings(**overrides: Any) -> Settings:
    """The settings. Order of precedence: `overrides`, environment, `.env`, `bookwise.toml` in the working folder,
    defaults. An override of None is ignored. Raises `Misconfigured`."""
    values: dict[str, Any] = _from_toml(Path(TOML_FILE))
    for source in (_dotenv(), os.environ):
        refuse_unknown(source)
        values |= _values_in(source)
    values |= {name: value for name, value in overrides.items() if value is not None}
    return Settings(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """One entry of `bookwise config show`."""

    name: str
    value: str
    source: str
    description: str


def show(settings: Settings) -> list[ShownSetting]:
    """Every setting with its value and its source. Secrets are masked."""
    in_toml = _from_toml(Path(TOML_FILE))
    rows = []
    for field, info in FIELDS.items():
        value = getattr(settings, field)
        text = "********" if hasattr(value, "get_secret_value") else "" if value is None else str(value)
        rows.append(
            ShownSetting(
                name=env_name(field),
                value=text,
                source=_source(field, in_toml),
                description=info.metadata[TEXT],
            )
        )
    return rows


def env_name(field: str) -> str:
    """The environment variable of a setting."""
    return str(FIELDS[field].metadata[NAME] or f"{PREFIX}{field.upper()}")


def refuse_unknown(environment: Mapping[str, str | None]) -> None:
    """Raises `Misconfigured` for an unknown BOOKWISE_ name: a misspelt setting must not be ignored."""
    known = {env_name(field) for field in FIELDS}
    for name in environment:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            raise Misconfigured(
                f"Unknown setting {name}.", advice=f"Did you mean {_nearest(name.upper(), known)}? Otherwise unset it."
            )


def _nearest(name: str, candidates: set[str]) -> str:
    return (difflib.get_close_matches(name, candidates, n=1, cutoff=0) or [""])[0]


def _dotenv() -> dict[str, str | None]:
    if not Path(".env").is_file():
        return {}
    from dotenv import dotenv_values  # loads dotenv: 11 ms

    return dict(dotenv_values(".env"))


def _values_in(environment: Mapping[str, str | None]) -> dict[str, str]:
    """The settings in an environment. An empty value counts as unset."""
    fields = {env_name(field): field for field in FIELDS}
    return {fields[name.upper()]: value for name, value in environment.items() if value and name.upper() in fields}


def _from_toml(path: Path) -> dict[str, Any]:
    """The `[settings]` table of a bookwise.toml in the working folder."""
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get(TOML_TABLE, {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} is not valid TOML: {error}.", advice="Correct the file.") from None
    for name in table:
        if name not in FIELDS:
            raise Misconfigured(
                f"{path}: unknown setting {TOML_TABLE}.{name}.",
                advice=f"Did you mean {_nearest(name, set(FIELDS))}?",
            )
    return dict(table)


def is_set(field: str) -> bool:
    """Whether the environment, `.env` or `bookwise.toml` sets this setting."""
    return _source(field, _from_toml(Path(TOML_FILE))) != "default"


def _source(field: str, in_toml: dict[str, Any]) -> str:
    if field in _values_in(os.environ):
        return "environment"
    if field in _values_in(_dotenv()):
        return ".env"
    return TOML_FILE if field in in_toml else "default"
