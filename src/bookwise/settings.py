"""Environment, `.env` and `bookwise.toml` → Settings: the only reader of the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from bookwise.domain.errors import Misconfigured

PREFIX = "BOOKWISE_"
OPENAI_URL = "https://api.openai.com/v1"
COHERE_URL = "https://api.cohere.com"
TOML_FILE = "bookwise.toml"
TOML_TABLE = "settings"
NAME = "environment_name"
_ORIGIN = re.compile(r"https?://[^\s/?#@,*]+")

EmbedderName = Literal["minilm", "openai", "cohere", "hashing"]
EngineSetting = Literal["auto", "extractive", "direct", "agent"]


def _seed(name: str, default: Any, text: str, **limits: Any) -> Any:
    """A setting under its own name, without the BOOKWISE_ prefix."""
    return Field(default=default, json_schema_extra={NAME: name}, description=text, **limits)


class Settings(BaseModel):
    """Everything that can be set. A wrong name or value is refused at start."""

    #: The other engine for patterns takes 30 ms to build `\w{1,64}`.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, regex_engine="python-re")

    data_dir: Path = Field(default=Path(".bookwise"), description="Folder that holds all state.")
    cache_dir: Path | None = Field(
        default=None,
        description="Folder for files that can be made again (the built model). Default: the user's cache.",
    )
    embedder: EmbedderName = Field(default="minilm", description="Which embedder turns texts into vectors.")
    model_dir: Path | None = Field(
        default=None, description="Folder with model.safetensors and tokenizer.json of all-MiniLM-L6-v2."
    )
    embed_workers: int = Field(
        default=0, ge=0, le=256, description="Threads that embed at the same time; 0 means one per core."
    )
    site_allow_private: bool = Field(default=False, description="Allow live sites on private or loopback addresses.")
    site_max_pages: int = Field(default=2_000, ge=1, le=100_000, description="Pages fetched of a live site.")
    embed_timeout_seconds: float = Field(
        default=60.0, gt=0, le=600, description="Deadline of one call to an embedding service, retries included."
    )
    engine: EngineSetting = Field(
        default="auto", description="Which engine writes answers; auto: direct when a key is set, extractive otherwise."
    )
    temperature: float = Field(default=0.0, ge=0.0, le=1.0, description="Randomness of the language model.")
    answer_timeout_seconds: float = Field(
        default=60.0, gt=0, le=600, description="Deadline of one answer, retries included."
    )
    unsupported: Literal["drop", "mark"] = Field(
        default="drop", description="What becomes of a model's sentence that no passage carries."
    )
    keep_questions: bool = Field(
        default=True,
        description="Keep what readers of the service ask, for `bookwise insights`; false: only the counts.",
    )
    log_questions: bool = Field(default=False, description="Write the text of questions into the service's log.")

    host: str = Field(default="127.0.0.1", min_length=1, description="Address that `bookwise serve` listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port that `bookwise serve` listens on; 0: a free one.")
    cors_origins: tuple[str, ...] = Field(
        default=(), description="Origins whose pages may call the service, such as https://book.example; with commas."
    )
    body_limit_bytes: int = Field(
        default=512 * 1024, ge=1024, le=64 * 1024 * 1024, description="Largest body of a request."
    )

    otel_endpoint: str | None = _seed(
        "OTEL_EXPORTER_OTLP_ENDPOINT", None, "OpenTelemetry collector (OTLP over HTTP); no telemetry without it."
    )
    otel_texts: bool = Field(
        default=False, description="Send questions, passages and answers to the collector as well."
    )

    openai_api_key: SecretStr | None = _seed("OPENAI_API_KEY", None, "Key for the OpenAI-compatible endpoint.")
    openai_model: str = _seed("OPENAI_MODEL", "gpt-4o-mini", "Language model.", min_length=1)
    openai_base_url: str = _seed("OPENAI_BASE_URL", OPENAI_URL, "OpenAI-compatible endpoint.")
    openai_embedding_model: str = Field(
        default="text-embedding-3-small", description="Embedding model of the OpenAI embedder.", min_length=1
    )
    cohere_api_key: SecretStr | None = _seed("COHERE_API_KEY", None, "Key for Cohere.")
    cohere_model: str = _seed("COHERE_MODEL", "embed-english-v3.0", "Embedding model of Cohere.", min_length=1)
    cohere_base_url: str = Field(default=COHERE_URL, description="Cohere's endpoint.")
    qdrant_url: str | None = _seed("QDRANT_URL", None, "Qdrant server; embedded when empty.")
    qdrant_api_key: SecretStr | None = _seed("QDRANT_API_KEY", None, "Key for the Qdrant server.")
    qdrant_collection_name: str = _seed(
        "QDRANT_COLLECTION_NAME",
        "textbook_chunks",
        "Collection that holds the chunks.",
        pattern=r"^[\w-]{1,64}$",
    )
    database_url: SecretStr | None = _seed(
        "DATABASE_URL", None, "PostgreSQL or SQLite URL. Default: a SQLite file in the data folder."
    )
    agent_top_k: int = _seed("AGENT_TOP_K", 5, "Chunks retrieved for an answer.", ge=1, le=100)
    agent_score_threshold: float = _seed(
        "AGENT_SCORE_THRESHOLD", 0.0, "Least similarity of a retrieved chunk.", ge=0.0, le=1.0
    )
    agent_max_turns: int = _seed("AGENT_MAX_TURNS", 50, "Turns of a library conversation.", ge=1, le=1_000)
    min_relevance_score: float = _seed(
        "MIN_RELEVANCE_SCORE",
        0.3,
        "Similarity from which the ask face calls its confidence high.",
        ge=0.0,
        le=1.0,
    )

    github_webhook_secret: SecretStr | None = _seed(
        "GITHUB_WEBHOOK_SECRET", None, "Secret that GitHub signs its deliveries with; no webhook without it."
    )
    github_repository: str | None = _seed(
        "GITHUB_REPOSITORY", None, "The one repository whose pushes are ingested, such as owner/book."
    )
    github_branch: str = _seed("GITHUB_BRANCH", "main", "The branch whose pushes are ingested.", min_length=1)

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _are_origins(cls, value: Any) -> tuple[str, ...]:
        found = [part.strip() for part in value.split(",")] if isinstance(value, str) else list(value)
        for origin in filter(None, found):
            if not _ORIGIN.fullmatch(origin):
                raise ValueError("must be origins such as https://book.example, separated by commas")
        return tuple(filter(None, found))

    @field_validator("openai_base_url", "cohere_base_url", "qdrant_url", "otel_endpoint")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/") if value else None

    @field_validator("openai_api_key", "cohere_api_key", "qdrant_api_key", "database_url", "github_webhook_secret")
    @classmethod
    def _is_one_line(cls, value: SecretStr | None) -> SecretStr | None:
        secret = value.get_secret_value() if value else ""
        if secret != secret.strip() or "\n" in secret:
            raise ValueError("must not contain line breaks or blanks around it")
        return value if secret else None

    @property
    def cache_folder(self) -> Path:
        return self.cache_dir or _user_cache() or self.data_dir / "cache"


def _user_cache() -> Path | None:
    if root := os.environ.get("XDG_CACHE_HOME"):
        return Path(root) / "bookwise"
    home = os.environ.get("HOME")
    return Path(home) / ".cache" / "bookwise" if home else None


def foreign_environment() -> dict[str, str]:
    """The environment for another program: without our own settings, some of which are secrets."""
    ours = {env_name(field) for field in Settings.model_fields}
    return {name: value for name, value in os.environ.items() if name not in ours}


def load_settings(**given: Any) -> Settings:
    """Settings by order of trust: `given`, environment, `.env`, `bookwise.toml` here, defaults."""
    values: dict[str, Any] = _from_toml(Path(TOML_FILE))
    for source in (_dotenv(), os.environ):
        refuse_unknown(source)
        values |= _named(source)
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise Misconfigured(_explained(error), advice="`bookwise config show` lists all settings.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """One line of `bookwise config show`."""

    name: str
    value: str
    source: str
    description: str


def show(settings: Settings) -> list[ShownSetting]:
    """Every setting with its value and where it came from; secrets masked."""
    in_toml = _from_toml(Path(TOML_FILE))
    shown = []
    for field, info in Settings.model_fields.items():
        value = getattr(settings, field)
        masked = "********" if isinstance(value, SecretStr) else "" if value is None else str(value)
        shown.append(
            ShownSetting(
                name=env_name(field),
                value=masked,
                source=_source(field, in_toml),
                description=info.description or "",
            )
        )
    return shown


def env_name(field: str) -> str:
    """The environment variable of a setting."""
    extra = Settings.model_fields[field].json_schema_extra
    return str(extra[NAME]) if isinstance(extra, dict) else f"{PREFIX}{field.upper()}"


def refuse_unknown(environment: Mapping[str, str | None]) -> None:
    """A BOOKWISE_ name that means nothing is a typing error that would otherwise be ignored."""
    known = {env_name(field) for field in Settings.model_fields}
    for name in environment:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            raise Misconfigured(f"Unknown setting {name}.", advice=f"Did you mean {_nearest(name.upper(), known)}?")


def _nearest(name: str, known: set[str]) -> str:
    import difflib

    return (difflib.get_close_matches(name, known, n=1, cutoff=0) or [""])[0]


def _dotenv() -> dict[str, str | None]:
    if not Path(".env").is_file():
        return {}
    from dotenv import dotenv_values

    return dict(dotenv_values(".env"))


def _named(environment: Mapping[str, str | None]) -> dict[str, str]:
    """What an environment says about settings; an empty value says nothing."""
    fields = {env_name(field): field for field in Settings.model_fields}
    return {fields[name.upper()]: value for name, value in environment.items() if value and name.upper() in fields}


def _from_toml(path: Path) -> dict[str, Any]:
    """The `[settings]` table of a bookwise.toml in the working folder."""
    if not path.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get(TOML_TABLE, {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} is not valid TOML: {error}") from None
    for name in table:
        if name not in Settings.model_fields:
            raise Misconfigured(
                f"{path}: unknown setting {TOML_TABLE}.{name}.",
                advice=f"Did you mean {_nearest(name, set(Settings.model_fields))}?",
            )
    return dict(table)


def _source(field: str, in_toml: dict[str, Any]) -> str:
    if field in _named(os.environ):
        return "environment"
    if field in _named(_dotenv()):
        return ".env"
    return TOML_FILE if field in in_toml else "default"


def _explained(error: ValidationError) -> str:
    """What is wrong with which setting; the value itself may be a secret and is not repeated."""
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        place = str(problem["loc"][0]) if problem["loc"] else ""
        name = env_name(place) if place in Settings.model_fields else place
        lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(lines) + "."
