"""Settings: from where, in which order, and what is refused at start."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bookwise.domain.errors import Misconfigured
from bookwise.settings import FIELDS, Settings, env_name, is_set, load_settings, show


@pytest.fixture(autouse=True)
def clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an environment without settings."""
    for field in FIELDS:
        monkeypatch.delenv(env_name(field), raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults_need_no_configuration() -> None:
    settings = load_settings()
    assert settings.data_dir == Path(".bookwise")
    assert settings.embedder == "minilm"
    assert (settings.agent_top_k, settings.agent_score_threshold, settings.agent_max_turns) == (5, 0.0, 50)
    assert settings.min_relevance_score == 0.3
    assert settings.openai_model == "gpt-4o-mini"


def test_a_setting_counts_as_set_wherever_it_is_written(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_set("agent_max_turns")
    (clean_place / "bookwise.toml").write_text("[settings]\nagent_max_turns = 50\n")
    assert is_set("agent_max_turns"), "also with the value of the default"
    assert not is_set("agent_top_k")
    (clean_place / ".env").write_text("AGENT_TOP_K=5\n")
    assert is_set("agent_top_k")
    monkeypatch.setenv("BOOKWISE_MAX_TOKENS", "300")
    assert is_set("max_tokens")
    assert load_settings().max_tokens == 300


def test_every_default_keeps_the_limits_of_its_setting() -> None:
    defaults = {name: known.default for name, known in FIELDS.items() if known.default is not None}
    assert Settings(**{name: str(value) for name, value in defaults.items() if value != ()}) == Settings()


def test_a_value_that_equals_the_default_in_another_type_is_turned_into_its_type(clean_place: Path) -> None:
    (clean_place / "bookwise.toml").write_text("[settings]\nport = 8000.0\n")
    assert repr(load_settings().port) == "8000"


def test_what_a_program_sets_is_checked_like_the_environment() -> None:
    with pytest.raises(Misconfigured, match=r"BOOKWISE_PORT: .*; AGENT_TOP_K: .*greater than or equal to 1"):
        Settings(agent_top_k=0, port=70_000)
    with pytest.raises(Misconfigured, match="BOOKWISE_PORT"):
        replace(Settings(), port=-1)


def test_settings_that_are_paths_and_defaults_go_without_pydantic() -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom bookwise.settings import load_settings\n"
        "assert load_settings(data_dir=Path('x')).data_dir == Path('x')\nassert 'pydantic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_flag_beats_the_environment_which_beats_dotenv_which_beats_toml(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clean_place / "bookwise.toml").write_text('[settings]\ndata_dir = "toml"\nembedder = "hashing"\n')
    assert load_settings().data_dir == Path("toml")
    (clean_place / ".env").write_text("BOOKWISE_DATA_DIR=dotenv\n")
    assert load_settings().data_dir == Path("dotenv")
    monkeypatch.setenv("BOOKWISE_DATA_DIR", "environment")
    assert load_settings().data_dir == Path("environment")
    assert load_settings(data_dir=Path("flag")).data_dir == Path("flag")
    assert load_settings().embedder == "hashing", "what only the toml says still counts"


def test_an_unknown_name_is_refused_with_the_nearest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKWISE_DATADIR", "x")
    with pytest.raises(Misconfigured, match="BOOKWISE_DATADIR") as caught:
        load_settings()
    assert "BOOKWISE_DATA_DIR" in caught.value.advice


def test_an_unknown_name_in_dotenv_or_toml_is_refused(clean_place: Path) -> None:
    (clean_place / ".env").write_text("BOOKWISE_EMBEDER=minilm\n")
    with pytest.raises(Misconfigured, match="BOOKWISE_EMBEDER"):
        load_settings()
    (clean_place / ".env").unlink()
    (clean_place / "bookwise.toml").write_text("[settings]\ncolour = 1\n")
    with pytest.raises(Misconfigured, match=r"settings\.colour"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BOOKWISE_EMBEDDER", "word2vec", "minilm"),
        ("BOOKWISE_EMBEDDER", "fastembed:", "fastembed:MODEL"),
        ("BOOKWISE_RERANKER", "cohere", "cohere:MODEL"),
        ("BOOKWISE_RERANKER", "minilm:x", "fastembed:MODEL"),
        ("BOOKWISE_EMBEDDING_SIZE", "0", "greater than or equal to 1"),
        ("AGENT_TOP_K", "0", "greater than or equal to 1"),
        ("AGENT_TOP_K", "101", "less than or equal to 100"),
        ("AGENT_TOP_K", "many", "integer"),
        ("AGENT_SCORE_THRESHOLD", "1.1", "less than or equal to 1"),
        ("MIN_RELEVANCE_SCORE", "-0.1", "greater than or equal to 0"),
        ("OPENAI_BASE_URL", "ftp://x", "http"),
        ("QDRANT_URL", "localhost:6333", "http"),
        ("QDRANT_URL", "https://me:secret@host:6333", "QDRANT_API_KEY"),
        ("BOOKWISE_QDRANT_READ_CONSISTENCY", "most", "majority"),
        ("BOOKWISE_QDRANT_QUANTIZATION", "octal", "scalar"),
        ("BOOKWISE_QDRANT_SHARD_NUMBER", "0", "1"),
        ("BOOKWISE_SITE_MAX_PAGES", "0", "greater than or equal to 1"),
        ("QDRANT_COLLECTION_NAME", "a/b", "pattern"),
        ("BOOKWISE_CORS_ORIGINS", "https://book.example,*", "origins such as"),
        ("BOOKWISE_CORS_ORIGINS", "https://book.example/page", "origins such as"),
    ],
)
def test_a_bad_value_is_named_with_its_range(name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(Misconfigured, match=name) as caught:
        load_settings()
    assert said in caught.value.message


def test_origins_are_separated_by_commas_and_addresses_end_without_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKWISE_CORS_ORIGINS", "https://book.example, http://localhost:3000,")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1/")
    settings = load_settings()
    assert settings.cors_origins == ("https://book.example", "http://localhost:3000")
    assert settings.openai_base_url == "http://localhost:11434/v1"


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:canary@localhost/b")
    settings = load_settings()
    assert "canary" not in repr(settings)
    assert "canary" not in repr(show(settings))
    assert {s.name: s.value for s in show(settings)}["OPENAI_API_KEY"] == "********"


def test_a_secret_with_a_line_break_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "canary\nsecond line")
    with pytest.raises(Misconfigured, match="COHERE_API_KEY") as caught:
        load_settings()
    assert "canary" not in caught.value.message


def test_config_show_says_where_each_value_came_from(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clean_place / ".env").write_text("AGENT_TOP_K=7\n")
    (clean_place / "bookwise.toml").write_text("[settings]\nsite_max_pages = 9\n")
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    shown = {s.name: (s.value, s.source) for s in show(load_settings())}
    assert shown["AGENT_TOP_K"] == ("7", ".env")
    assert shown["BOOKWISE_SITE_MAX_PAGES"] == ("9", "bookwise.toml")
    assert shown["BOOKWISE_EMBEDDER"] == ("hashing", "environment")
    assert shown["MIN_RELEVANCE_SCORE"] == ("0.3", "default")


def test_without_a_home_the_cache_is_in_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert load_settings().cache_folder == Path(".bookwise/cache")
