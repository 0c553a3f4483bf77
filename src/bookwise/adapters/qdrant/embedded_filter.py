"""Conditions → a filter of the engine in this process."""

from collections.abc import Sequence

import qdrant_edge as qdrant

from bookwise.adapters.qdrant.conditions import AnyOf, Condition, Equals


def to_filter(conditions: Sequence[Condition]) -> qdrant.Filter:
    """A filter that requires all conditions."""
    return qdrant.Filter(must=[_field(condition) for condition in conditions])


def _field(condition: Condition) -> qdrant.FieldCondition:
    if isinstance(condition, Equals):
        return qdrant.FieldCondition(key=condition.field, match=qdrant.MatchValue(condition.value))
    if isinstance(condition, AnyOf):
        return qdrant.FieldCondition(key=condition.field, match=qdrant.MatchAny(condition.values))
    return qdrant.FieldCondition(key=condition.field, range=qdrant.RangeFloat(gte=condition.low, lte=condition.high))
