"""Requests made up from /openapi.json, valid and broken ones, to a real service."""

from typing import Any
from urllib.parse import urljoin

import requests
import schemathesis
from hypothesis import given
from schemathesis.core.failures import Failure, FailureGroup
from tests.api.test_schemathesis import Described, at_the_edges, made_up, quietly

from benchmarks.trust.service import Running

OPEN_HEADERS = {"X-Requested-With": "trust"}  #: what no form sends


class ServiceSession(requests.Session):
    """Sends paths to the service."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.trust_env = False

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        return super().request(method, urljoin(self.url, url), *args, **options)


def send_made_up_requests(running: Running, secret: str | None, spare_key: str, most: int) -> tuple[int, list[str]]:
    """Sends about `most` requests at most, some of which may revoke the spare key. Returns their number, and what
    breaks the document or is a failure."""
    url = f"http://127.0.0.1:{running.port}"
    headers = {"Authorization": f"Bearer {secret}"} if secret else OPEN_HEADERS
    config = schemathesis.Config(seed=1)
    config.projects.default.generation.update(with_security_parameters=False, deterministic=True)
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", config=config, headers=headers)
    with ServiceSession(url) as session:
        service = Described(schema=schema, client=session, headers=headers, spare_key=spare_key)
        found: list[str] = []

        def check(case: Any) -> None:
            if service.sent.total() < most:
                found.extend(_failures(service, case))

        known = service.known()
        for operation in service.operations:
            for case in at_the_edges(service, operation):
                check(case)
            for strategy in made_up(operation, known.get(operation.label, {})):
                quietly(given(strategy)(check))()
    return service.sent.total(), found


def _failures(service: Described, case: Any) -> list[str]:
    try:
        service.check(case)
    except FailureGroup as group:
        return [f"{case.operation.label}: {failure}" for failure in group.exceptions]
    except Failure as failure:
        return [f"{case.operation.label}: {failure}"]
    return []
