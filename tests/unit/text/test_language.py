"""What a reader writes in, told from the words alone: certain, or not said."""

import pytest

from bookwise.text.language import language_name, other_language

QUESTIONS = [
    ("Wie installiere ich die Abhängigkeiten?", "de"),
    ("Was ist der Unterschied zwischen Box und Rc?", "de"),
    ("warum kompiliert mein programm nicht", "de"),
    ("Welche Sensoren braucht der Roboter?", "de"),
    ("Comment puis-je installer ROS 2 sur mon ordinateur ?", "fr"),
    ("Quelle est la différence entre une action et un service ?", "fr"),
    ("pourquoi mon programme ne compile pas", "fr"),
    ("¿Qué es un nodo?", "es"),
    ("como puedo instalar rust en mi computadora", "es"),
    ("cuál es la diferencia entre un topic y un servicio", "es"),
    ("Como faço para instalar o ROS 2 no meu computador?", "pt"),
    ("qual é a diferença entre um tópico e um serviço", "pt"),
    ("Come posso installare Rust sul mio computer?", "it"),
    ("perché il mio programma non funziona", "it"),
    ("Was ist Besitz in Rust?", "de"),
    ("Wer hat Rust erfunden?", "de"),
    ("Erkläre Topics", "de"),
    ("Gibt es Topics?", "de"),
    ("Comment installer Rust?", "fr"),
    ("Que sont les topics ?", "fr"),
    ("Explique les topics", "fr"),
    ("Describe un nodo", "es"),
    ("O que é um nó?", "pt"),
    ("Come si installa Rust?", "it"),
    ("Cos'è un nodo?", "it"),
    ("Wat is ownership?", "nl"),
    ("Kan jag köra Rust?", "sv"),
    ("Hva er en node?", "da"),
    ("Selitä ownership", "fi"),
    ("Czym jest topic?", "pl"),
    ("Wyjaśnij tematy", "pl"),
    ("Co je uzel?", "cs"),
    ("Ce este un nod?", "ro"),
    ("Mi az a node?", "hu"),
    ("Topic ne demek?", "tr"),
    ("Apa itu node?", "id"),
    ("Jelaskan topik", "id"),
    ("Hoe installeer ik ROS 2 op mijn computer?", "nl"),
    ("wat is het verschil tussen een topic en een service", "nl"),
    ("Hur installerar jag Rust på min dator?", "sv"),
    ("Hvordan installerer jeg Rust på min computer?", "da"),
    ("Miten asennan Rustin ja mikä on cargo?", "fi"),
    ("Jak zainstalować Rusta na moim komputerze?", "pl"),
    ("czym różni się wątek od procesu i dlaczego", "pl"),
    ("Jak nainstaluji Rust a proč to nefunguje?", "cs"),
    ("Cum pot instala Rust pe calculatorul meu?", "ro"),
    ("Hogyan telepítem a Rustot és miért nem működik?", "hu"),
    ("Rust nasıl kurulur?", "tr"),
    ("Bir düğüm ile servis arasındaki fark nedir?", "tr"),
    ("Bagaimana cara menginstal ROS 2 di laptop saya?", "id"),
    ("Làm thế nào để cài đặt Rust?", "vi"),
    ("Как установить Rust на Windows?", "ru"),
    ("Як встановити Rust і що це таке?", "uk"),
    ("كيف أقوم بتثبيت رست على جهازي؟", "ar"),
    ("چگونه راست را نصب کنم؟", "fa"),
    ("میں اپنے کمپیوٹر پر ROS 2 کیسے انسٹال کروں؟", "ur"),
    ("איך מתקינים את Rust?", "he"),
    ("Πώς εγκαθιστώ το Rust;", "el"),
    ("Rust को कैसे इंस्टॉल करें?", "hi"),
    ("কিভাবে Rust ইনস্টল করব?", "bn"),
    ("จะติดตั้ง Rust ได้อย่างไร", "th"),
    ("怎么安装 ROS 2 Humble Hawksbill", "zh"),
    ("Rustをインストールするにはどうすればいいですか?", "ja"),
    ("Rust를 어떻게 설치하나요?", "ko"),
]


@pytest.mark.parametrize(("question", "language"), QUESTIONS)
def test_a_question_in_another_language_is_recognised(question: str, language: str) -> None:
    assert other_language(question) == language


@pytest.mark.parametrize(("question", "language"), QUESTIONS)
def test_in_a_book_of_its_language_it_is_no_other(question: str, language: str) -> None:
    assert other_language(question, language) is None


@pytest.mark.parametrize(
    "text",
    [
        "What is a node?",
        "how do i completely remove rust from my laptop",
        "loop label",
        "response_model_exclude_unset",
        "REP?",
        "Fn vs FnMut vs FnOnce",
        "rustup self uninstall",
        "build just one package",
        "naïve Bayes",
        "Rio de la Plata",
        "La Vie en rose",
        "Die Hard",
        "Dan Yang",
        "Leonardo da Vinci, Ludwig van Beethoven and Simone de Beauvoir",
        "DES or AES",
        "error: linker `cc` not found",
        "error[E0382]: borrow of moved value: `s1`",
        "ModuleNotFoundError: No module named 'rclpy'",
        "why does it print “Wie geht es dir, mein Freund?”",
        "What does 'comment allez-vous' mean?",
        "How do I print 你好世界 in Rust?",
        "the λ of a loss",
        "∑ αβ",
        "setup.ini et al.",
        "comment syntax in Rust",
        "can I comment on a pull request?",
        "Where was the node installed?",
        "how to write a proc macro",
        "describe Los Angeles",
        "Define El Niño",
        "define la carte in one sentence",
        "APA citation style",
        'let s = String::from("Здравствуйте"); prints nothing',
        "`wie ich das` fails",
        "",
        "???",
        "42",
    ],
)
def test_names_keywords_code_and_error_messages_say_nothing(text: str) -> None:
    assert other_language(text) is None


def test_an_english_question_is_another_language_for_a_german_book() -> None:
    assert other_language("How do I install the dependencies?", "de-AT") == "en"
    assert other_language("cargo build", "de") is None


def test_a_book_in_a_language_that_is_not_known_here_accepts_every_question() -> None:
    assert other_language("Wie installiere ich das?", "sw") is None


def test_a_language_has_its_english_name() -> None:
    assert [language_name(code) for code in ("en", "de-AT", "pt-BR", "sw")] == [
        "English",
        "German",
        "Portuguese",
        "sw",
    ]
