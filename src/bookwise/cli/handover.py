"""The client of a running service, under the name the commands import."""

from bookwise.operations.handover import Operator, hand_over, job_error, operator_of

__all__ = ["Operator", "hand_over", "job_error", "operator_of"]
