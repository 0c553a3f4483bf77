"""Plain checks of a text into the guardrails of the Agents SDK."""

import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from agents import Agent, GuardrailFunctionOutput, InputGuardrail, OutputGuardrail, RunContextWrapper
from agents.items import TResponseInputItem

logger = logging.getLogger(__name__)

Check: TypeAlias = Callable[[str], str | None]
"""A text → why it must not pass, or None."""


def input_guardrail(check: Check) -> InputGuardrail[Any]:
    """Checks the question before the model gets it. A check that fails lets it pass: the answer is checked too."""

    def guard(
        context: RunContextWrapper[Any], agent: Agent[Any], asked: str | list[TResponseInputItem]
    ) -> GuardrailFunctionOutput:
        return _verdict(check, _newest(asked), side="input")

    return InputGuardrail(guardrail_function=guard, name="input", run_in_parallel=False)


def output_guardrail(check: Check) -> OutputGuardrail[Any]:
    """Checks the whole answer. A check that fails lets nothing pass."""

    def guard(context: RunContextWrapper[Any], agent: Agent[Any], answer: object) -> GuardrailFunctionOutput:
        return _verdict(check, str(answer), side="output")

    return OutputGuardrail(guardrail_function=guard, name="output")


def _verdict(check: Check, text: str, *, side: Literal["input", "output"]) -> GuardrailFunctionOutput:
    try:
        reason = check(text)
    except Exception as error:  # noqa: BLE001 - whatever a check fails of, the stated policy holds
        logger.error("guardrail.failed", extra={"side": side, "error": type(error).__name__})
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=side == "output")
    return GuardrailFunctionOutput(output_info=reason, tripwire_triggered=reason is not None)


def _newest(asked: str | list[TResponseInputItem]) -> str:
    """The question, without the thread before it."""
    if isinstance(asked, str):
        return asked
    content = asked[-1].get("content")
    return content if isinstance(content, str) else ""
