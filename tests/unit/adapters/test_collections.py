"""Which indexes a data folder holds, read without opening them."""

import json
from pathlib import Path

from bookwise.adapters.qdrant.collections import IDENTITY_FILE, configured_name, index_ids, index_name


def index(folder: Path, name: str, identity: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / IDENTITY_FILE).write_text(identity)


def test_the_indexes_of_a_folder_are_found_by_name(tmp_path: Path) -> None:
    for collection, fingerprint, index_id in (
        ("a", "hashing:64:1", "1"),
        ("b-c", "hashing:64:1", "2"),
        ("a", "x", "3"),
    ):
        index(tmp_path, index_name(collection, fingerprint), json.dumps({"id": index_id}))
    assert index_ids(tmp_path) == {"a-hashing-64-1": "1", "a-x": "3", "b-c-hashing-64-1": "2"}


def test_an_index_without_a_readable_identity_is_left_out(tmp_path: Path) -> None:
    for name, identity in (("torn", '{"id"'), ("other", "[]"), ("empty", "{}")):
        index(tmp_path, name, identity)
    (tmp_path / "not-an-index").mkdir()
    assert index_ids(tmp_path) == {}
    assert index_ids(tmp_path / "absent") == {}


def test_the_name_of_an_index_tells_its_collection_and_its_embedder() -> None:
    name = index_name("b-c", "hashing:64:1")
    assert configured_name(name, "hashing:64:1") == "b-c"
    assert configured_name(name, "hashing:64:2") == ""
