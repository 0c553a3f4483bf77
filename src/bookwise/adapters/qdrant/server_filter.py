"""Conditions → a filter of the server."""

from collections.abc import Sequence

from qdrant_client import models

from bookwise.adapters.qdrant.conditions import AnyOf, Condition, Equals


def to_filter(conditions: Sequence[Condition]) -> models.Filter:
    """A filter that requires all conditions."""
    return models.Filter(must=[_field(condition) for condition in conditions])


def _field(condition: Condition) -> models.FieldCondition:
    if isinstance(condition, Equals):
        return models.FieldCondition(key=condition.field, match=models.MatchValue(value=condition.value))
    if isinstance(condition, AnyOf):
        return models.FieldCondition(key=condition.field, match=models.MatchAny(any=condition.values))
    return models.FieldCondition(key=condition.field, range=models.Range(gte=condition.low, lte=condition.high))
