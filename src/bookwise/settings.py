"""Environment, `.env` and `bookwise.toml` → Settings: the only reader of the environment."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from pydantic import SecretStr, ValidationError

PREFIX = "BOOKWISE_"
OPENAI_URL = "https://api.openai.com/v1"
ASK_TEMPERATURE = 0.1  #: of a single question, unless `temperature` is set
COHERE_URL = "https://api.cohere.com"
TOML_FILE = "bookwise.toml"
TOML_TABLE = "settings"
NAME, TEXT, LIMITS, CHECK = "environment_name", "description", "limits", "check"
_ORIGIN = re.compile(r"https?://[^\s/?#@,*]+")

EmbedderName = Literal["minilm", "openai", "cohere", "hashing"]
EngineSetting = Literal["auto", "extractive", "direct", "agent"]


def _setting(
    default: Any, text: str, *, name: str | None = None, check: Callable[[Any], Any] | None = None, **limits: Any
) -> Any:
    """A setting: its value must keep the limits, and `check` refuses it or returns what it stands for."""
    return dataclasses.field(default=default, metadata={NAME: name, TEXT: text, LIMITS: limits, CHECK: check})


def _unprefixed_setting(name: str, default: Any, text: str, **more: Any) -> Any:
    """A setting under its own name, without the BOOKWISE_ prefix."""
    return _setting(default, text, name=name, **more)


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(origin for part in value if (origin := part.strip()))
    if not all(map(_ORIGIN.fullmatch, found)):
        raise ValueError("must be origins such as https://book.example, separated by commas")
    return found


def _http(value: str) -> str | None:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return value.rstrip("/") or None


def _one_line(value: SecretStr) -> SecretStr | None:
    secret = value.get_secret_value()
    if secret != secret.strip() or "\n" in secret:
        raise ValueError("must not contain line breaks or blanks around it")
    return value if secret else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set. A wrong name or value is refused at start."""

    data_dir: Path = _setting(Path(".bookwise"), "Folder that holds all state.")
    cache_dir: Path | None = _setting(
        None, "Folder for files that can be made again (the built model). Default: the user's cache."
    )
    embedder: EmbedderName = _setting("minilm", "Which embedder turns texts into vectors.")
    model_dir: Path | None = _setting(None, "Folder with model.safetensors and tokenizer.json of all-MiniLM-L6-v2.")
    embed_workers: int = _setting(0, "Threads that embed at the same time; 0 means one per core.", ge=0, le=256)
    site_allow_private: bool = _setting(False, "Allow live sites on private or loopback addresses.")
    site_max_pages: int = _setting(2_000, "Pages fetched of a live site.", ge=1, le=100_000)
    embed_timeout_seconds: float = _setting(
        60.0, "Deadline of one call to an embedding service, retries included.", gt=0, le=600
    )
    engine: EngineSetting = _setting(
        "auto", "Which engine writes answers; auto: direct when a key is set, extractive otherwise."
    )
    temperature: float | None = _setting(
        None,
        "Randomness of the language model; by default 0 in a conversation and 0.1 for a single question.",
        ge=0.0,
        le=1.0,
    )
    max_tokens: int | None = _setting(
        None, "Longest answer of the language model, in tokens. Default: the model's own limit.", ge=1, le=1_000_000
    )
    answer_timeout_seconds: float = _setting(60.0, "Deadline of one answer, retries included.", gt=0, le=600)
    unsupported: Literal["drop", "mark"] = _setting(
        "drop", "What becomes of a model's sentence that no passage carries."
    )
    keep_questions: bool = _setting(
        True, "Keep what readers of the service ask, for `bookwise insights`; false: only the counts."
    )
    log_questions: bool = _setting(False, "Write the text of questions into the service's log.")

    host: str = _setting("127.0.0.1", "Address that `bookwise serve` listens on.", min_length=1)
    port: int = _setting(8000, "Port that `bookwise serve` listens on; 0: a free one.", ge=0, le=65535)
    cors_origins: tuple[str, ...] = _setting(
        (), "Origins whose pages may call the service, such as https://book.example; with commas.", check=_origins
    )
    body_limit_bytes: int = _setting(512 * 1024, "Largest body of a request.", ge=1024, le=64 * 1024 * 1024)

    otel_endpoint: str | None = _unprefixed_setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        None,
        "OpenTelemetry collector (OTLP over HTTP); no telemetry without it.",
        check=_http,
    )
    otel_texts: bool = _setting(False, "Send questions, passages and answers to the collector as well.")

    openai_api_key: SecretStr | None = _unprefixed_setting(
        "OPENAI_API_KEY", None, "Key for the OpenAI-compatible endpoint.", check=_one_line
    )
    openai_model: str = _unprefixed_setting("OPENAI_MODEL", "gpt-4o-mini", "Language model.", min_length=1)
    openai_base_url: str = _unprefixed_setting(
        "OPENAI_BASE_URL", OPENAI_URL, "OpenAI-compatible endpoint.", check=_http
    )
    openai_embedding_model: str = _setting(
        "text-embedding-3-small", "Embedding model of the OpenAI embedder.", min_length=1
    )
    cohere_api_key: SecretStr | None = _unprefixed_setting("COHERE_API_KEY", None, "Key for Cohere.", check=_one_line)
    cohere_model: str = _unprefixed_setting(
        "COHERE_MODEL", "embed-english-v3.0", "Embedding model of Cohere.", min_length=1
    )
    cohere_base_url: str = _setting(COHERE_URL, "Cohere's endpoint.", check=_http)
    qdrant_url: str | None = _unprefixed_setting("QDRANT_URL", None, "Qdrant server; embedded when empty.", check=_http)
    qdrant_api_key: SecretStr | None = _unprefixed_setting(
        "QDRANT_API_KEY", None, "Key for the Qdrant server.", check=_one_line
    )
    qdrant_collection_name: str = _unprefixed_setting(
        "QDRANT_COLLECTION_NAME", "textbook_chunks", "Collection that holds the chunks.", pattern=r"^[\w-]{1,64}$"
    )
    database_url: SecretStr | None = _unprefixed_setting(
        "DATABASE_URL", None, "PostgreSQL or SQLite URL. Default: a SQLite file in the data folder.", check=_one_line
    )
    agent_top_k: int = _unprefixed_setting("AGENT_TOP_K", 5, "Chunks retrieved for an answer.", ge=1, le=100)
    agent_score_threshold: float = _unprefixed_setting(
        "AGENT_SCORE_THRESHOLD", 0.0, "Least similarity of a retrieved chunk.", ge=0.0, le=1.0
    )
    agent_max_turns: int = _unprefixed_setting(
        "AGENT_MAX_TURNS",
        50,
        "Turns of a conversation that are read for a follow-up. If set, `bookwise chat` stops there (default: 20).",
        ge=1,
        le=1_000,
    )
    min_relevance_score: float = _unprefixed_setting(
        "MIN_RELEVANCE_SCORE", 0.3, "Similarity from which the ask face calls its confidence high.", ge=0.0, le=1.0
    )

    github_webhook_secret: SecretStr | None = _unprefixed_setting(
        "GITHUB_WEBHOOK_SECRET",
        None,
        "Secret that GitHub signs its deliveries with; no webhook without it.",
        check=_one_line,
    )
    github_repository: str | None = _unprefixed_setting(
        "GITHUB_REPOSITORY", None, "The one repository whose pushes are ingested, such as owner/book."
    )
    github_branch: str = _unprefixed_setting(
        "GITHUB_BRANCH", "main", "The branch whose pushes are ingested.", min_length=1
    )

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in FIELDS}
        for name, value in _checked(values).items():
            object.__setattr__(self, name, value)

    @property
    def cache_folder(self) -> Path:
        return self.cache_dir or _user_cache() or self.data_dir / "cache"


FIELDS = {known.name: known for known in dataclasses.fields(Settings)}


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was set, as its settings want it. A default is right as it is, and so is a path: the quickest commands set
    nothing else, and go without pydantic."""
    given = {
        name: value
        for name, value in values.items()
        if value is not FIELDS[name].default and not isinstance(value, Path)
    }
    if not given:
        return {}
    from pydantic import ConfigDict, ValidationError, create_model  # 0.1 s

    hints = types()
    shapes: dict[str, Any] = {name: (_shape(hints[name], FIELDS[name].metadata), ...) for name in given}
    # The other engine for patterns takes 30 ms to build `\w{1,64}`.
    model = create_model("Given", __config__=ConfigDict(regex_engine="python-re"), **shapes)
    try:
        checked = model(**{name: value.split(",") if _is_list(name, value) else value for name, value in given.items()})
    except ValidationError as error:
        raise Misconfigured(_explained(error), advice="`bookwise config show` lists all settings.") from None
    return {name: getattr(checked, name) for name in given}


def types() -> dict[str, Any]:
    """What each setting may be."""
    from pydantic import SecretStr

    return get_type_hints(Settings, localns={"SecretStr": SecretStr})


def _shape(hint: Any, about: Mapping[str, Any]) -> Any:
    from pydantic import AfterValidator, Field

    limited = Annotated[hint, Field(**about[LIMITS])]
    return Annotated[limited, AfterValidator(about[CHECK])] if about[CHECK] else limited


def _is_list(name: str, value: Any) -> bool:
    return isinstance(value, str) and isinstance(FIELDS[name].default, tuple)


def _user_cache() -> Path | None:
    if root := os.environ.get("XDG_CACHE_HOME"):
        return Path(root) / "bookwise"
    home = os.environ.get("HOME")
    return Path(home) / ".cache" / "bookwise" if home else None


def foreign_environment() -> dict[str, str]:
    """The environment for another program: without our own settings, some of which are secrets."""
    ours = {env_name(field) for field in FIELDS}
    return {name: value for name, value in os.environ.items() if name not in ours}


def load_settings(**given: Any) -> Settings:
    """Settings by order of trust: `given`, environment, `.env`, `bookwise.toml` here, defaults."""
    values: dict[str, Any] = _from_toml(Path(TOML_FILE))
    for source in (_dotenv(), os.environ):
        refuse_unknown(source)
        values |= _named(source)
    values |= {name: value for name, value in given.items() if value is not None}
    return Settings(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """One line of `bookwise config show`."""

    name: str
    value: str
    source: str
    description: str


def show(settings: Settings) -> list[ShownSetting]:
    """Every setting with its value and where it came from; secrets masked."""
    from pydantic import SecretStr

    in_toml = _from_toml(Path(TOML_FILE))
    shown = []
    for field, info in FIELDS.items():
        value = getattr(settings, field)
        masked = "********" if isinstance(value, SecretStr) else "" if value is None else str(value)
        shown.append(
            ShownSetting(
                name=env_name(field),
                value=masked,
                source=_source(field, in_toml),
                description=info.metadata[TEXT],
            )
        )
    return shown


def env_name(field: str) -> str:
    """The environment variable of a setting."""
    return str(FIELDS[field].metadata[NAME] or f"{PREFIX}{field.upper()}")


def refuse_unknown(environment: Mapping[str, str | None]) -> None:
    """A BOOKWISE_ name that means nothing is a typing error that would otherwise be ignored."""
    known = {env_name(field) for field in FIELDS}
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
    fields = {env_name(field): field for field in FIELDS}
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
    if field in _named(os.environ):
        return "environment"
    if field in _named(_dotenv()):
        return ".env"
    return TOML_FILE if field in in_toml else "default"


def _explained(error: ValidationError) -> str:
    """What is wrong with which setting; the value itself may be a secret and is not repeated."""
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        lines.append(f"{env_name(str(problem['loc'][0]))}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(lines) + "."
