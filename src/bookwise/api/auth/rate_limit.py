"""Rate limits of requests, and the response headers that report them."""

import math

from fastapi import Depends, FastAPI, Request

from bookwise.api.auth.access import Reader
from bookwise.api.middleware.rate_headers import RateHeaders
from bookwise.domain.errors import TooManyRequests
from bookwise.domain.rate_limits import WINDOW_SECONDS, RateState
from bookwise.ports import RateLimits


def rate_headers(state: RateState) -> dict[str, str]:
    """None for a caller without a limit."""
    if state.limit == 0:
        return {}
    return {
        "RateLimit-Policy": f'"default";q={state.limit};w={WINDOW_SECONDS}',
        "RateLimit": f'"default";r={state.remaining};t={math.ceil(state.reset_seconds)}',
    }


def add_rate_headers(app: FastAPI) -> None:
    """Adds rate headers to every response to a limited request."""
    app.add_middleware(RateHeaders)


def rate_limits_of(request: Request) -> RateLimits:
    limits: RateLimits = request.app.state.rate_limits
    return limits


async def limited(request: Request, caller: Reader) -> None:
    """Counts the request once, and stores its rate headers in `request.state.rate` for the response."""
    if hasattr(request.state, "rate"):
        return
    try:
        state = await rate_limits_of(request).admit(caller)
    except TooManyRequests as error:
        request.state.rate = rate_headers(RateState(caller.rate_per_minute, 0, error.retry_after))
        raise
    request.state.rate = rate_headers(state)


Limited = Depends(limited)
