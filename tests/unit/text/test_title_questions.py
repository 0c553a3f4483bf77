"""Titles become questions that a reader could ask, where that reads well."""

import pytest

from bookwise.text.title_questions import question_about, subject_of


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Installing ROS 2", "How do I install ROS 2?"),
        ("Install `PyJWT`", "How do I install `PyJWT`?"),
        ("2. Install ROS 2 Humble", "How do I install ROS 2 Humble?"),
        ("Write Your First Node", "How do I write my First Node?"),
        ("Setting Up a Workspace", "How do I set up a Workspace?"),
        ("Return a Response Directly", "How do I return a Response Directly?"),
        ("How to clean the plate", "How do I clean the plate?"),
        ("Defining and Instantiating Structs", "How do I define and instantiate Structs?"),
        ("Programming a Guessing Game", "How do I program a Guessing Game?"),
        ("Understanding Ownership", "What is Ownership?"),
        ("Introduction to Bayesian Methods", "What are Bayesian Methods?"),
        ("ROS 2 Fundamentals", "What is ROS 2?"),
        ("Week 5 Lesson 2: Pattern Matching", "What is Pattern Matching?"),
        ("The Cobweb Model", "What is the Cobweb Model?"),
        ("About HTTPS", "What is HTTPS?"),
        ("Smart Pointers", "What are Smart Pointers?"),
        ("Why do heavy tails matter?", "Why do heavy tails matter?"),
    ],
)
def test_a_title_is_phrased_by_its_form(title: str, question: str) -> None:
    assert question_about(title) == question


@pytest.mark.parametrize(
    "title",
    [
        "Programming Languages",  # not "How do I program Languages?"
        "Building Blocks",
        "Test Coverage",
        "Patterns and Matching",
        "Common Collections",
        "Behind a Proxy",
        "Response - Change Status Code",
        "How To - Recipes",
        "Node",  # "What is Node?" needs an article
        "More information about responses",
        "Die Knoten und ihre Namen",
    ],
)
def test_a_title_without_a_question_that_reads_well_has_none(title: str) -> None:
    assert question_about(title) is None


@pytest.mark.parametrize(
    "title",
    [
        "Introduction",
        "1. Summary",
        "Chapter 3",
        "Appendix A: Keywords",
        "FOREWORD",
        "Getting Started",
        "About These Lectures",
    ],
)
def test_a_part_of_any_book_is_no_subject(title: str) -> None:
    assert subject_of(title) == ""
