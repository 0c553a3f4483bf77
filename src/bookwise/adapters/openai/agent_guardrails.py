"""Checks of a text → guardrails of the Agents SDK."""

import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from agents import Agent, GuardrailFunctionOutput, InputGuardrail, OutputGuardrail, RunContextWrapper
from agents.items import TResponseInputItem

logger = logging.getLogger(__name__)

Check: TypeAlias = Callable[[str], str | None]
"""A text → the reason to block it, or None."""


def input_guardrail(check: Check) -> InputGuardrail[Any]:
    """Checks the question before the model gets it. If the check itself fails, the question passes: the answer is
    checked too."""

    def guard(
        context: RunContextWrapper[Any], agent: Agent[Any], question: str | list[TResponseInputItem]
    ) -> GuardrailFunctionOutput:
        return _verdict(check, _newest(question), side="input")

    return InputGuardrail(guardrail_function=guard, name="input", run_in_parallel=False)


def output_guardrail(check: Check) -> OutputGuardrail[Any]:
    """Checks the whole answer. If the check itself fails, the answer is blocked."""

    def guard(context: RunContextWrapper[Any], agent: Agent[Any], answer: object) -> GuardrailFunctionOutput:
        return _verdict(check, str(answer), side="output")

    return OutputGuardrail(guardrail_function=guard, name="output")


def _verdict(check: Check, text: str, *, side: Literal["input", "output"]) -> GuardrailFunctionOutput:
    try:
        reason = check(text)
    except Exception as error:  # noqa: BLE001 - the policy applies to every failure of a check
        logger.error("guardrail.failed", extra={"side": side, "error": type(error).__name__})
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=side == "output")
    return GuardrailFunctionOutput(output_info=reason, tripwire_triggered=reason is not None)


def _newest(question: str | list[TResponseInputItem]) -> str:
    """The question without the thread before it."""
    if isinstance(question, str):
        return question
    content = question[-1].get("content")
    return content if isinstance(content, str) else ""
