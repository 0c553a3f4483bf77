"""Formulas in a line become plain text; money does not."""

import pytest

from bookwise.text.formulas import without_formulas


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"let's take $P$ to be fixed", "let's take P to be fixed"),
        (r"the $\ell_2$ norm", "the ℓ_2 norm"),
        (r"$\alpha^2 \leq \mathbf{x}^\top y$, $\lambda \to \infty$", "α^2 ≤ x^⊤ y, λ → ∞"),
        (r"$\log x\,dx$ and $\Sigma$", "log x dx and Σ"),
        ("costs $10 and $20", "costs $10 and $20"),
        ("the variable $HOME and $PATH", "the variable $HOME and $PATH"),
        ("set $x and then y$z", "set $x and then y$z"),
        (r"a \$ sign, a $$ sign", r"a \$ sign, a $$ sign"),
    ],
)
def test_a_formula_in_a_line_is_plain_text(text: str, plain: str) -> None:
    assert without_formulas(text) == plain
