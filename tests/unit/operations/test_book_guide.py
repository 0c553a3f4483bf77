"""Starter questions: real questions first, and none about a part that every book has."""

from bookwise.operations.book_guide import GENERAL_TITLES, _is_sentence, _is_subject, preferred

TITLES = ["Introduction", "Ownership", "About", "Lifetimes", "Traits", "Preface"]


def test_titles_that_name_no_subject_are_left_out_if_enough_others_remain() -> None:
    assert preferred(TITLES, _is_subject) == ["Ownership", "Lifetimes", "Traits"]
    assert preferred(["Introduction", "Ownership"], _is_subject) == ["Introduction", "Ownership"]
    assert {"release notes", "preface", "contributing", "welcome"} <= GENERAL_TITLES


def test_questions_that_are_sentences_come_before_search_terms() -> None:
    asked = ["topics, services - how?", "What is a node?", "How do I build?", "Why a graph?", "ros2 topic list"]
    assert preferred(asked, _is_sentence) == ["What is a node?", "How do I build?", "Why a graph?"]
