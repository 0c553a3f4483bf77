"""Addresses of a site that lead back to this machine or into its network: none may be requested."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.support.scripted_http import answering

from benchmarks.trust.xss import Listener
from bookwise.adapters.site import SiteOptions, mirror
from bookwise.domain.errors import BadSource, BookwiseError

#: PORT is that of the listener.
ADDRESSES = (
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/sitemap.xml",
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://127.255.255.254:PORT/",
    "http://0.0.0.0:PORT/",
    "http://0:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://017700000001:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://localhost.localdomain:PORT/",
    "http://a.localhost:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://127。0。0。1:PORT/",
    "http://public.example@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT@public.example/",
    "http://127.0.0.1:PORT#@public.example/",
    "http://public.example\\@127.0.0.1:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1:PORT/",
    "http://192.168.0.1:PORT/",
    "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/_GET",
    "ftp://127.0.0.1:PORT/",
    "http://rebinding.example:PORT/",  # a name whose address is this machine
    "http://mixed.example:PORT/",  # one of its addresses is public, another is this machine
)
LATEST_SECONDS = 20.0


async def resolve(host: str, port: int) -> Sequence[str]:
    """A resolver of an attacker. Addresses for documentation stand for public ones."""
    return ("203.0.113.7", "127.0.0.1") if host == "mixed.example" else ("127.0.0.1",)


async def run_requests(folder: Path, count: int) -> list[str]:
    """What went wrong with the first `count` addresses."""
    bad: list[str] = []
    listener = Listener()
    async with answering(listener) as canary:
        for number, address in enumerate(ADDRESSES[:count]):
            url = address.replace("PORT", str(canary.port))
            bad += [f"ssrf {url}: {wrong}" for wrong in await _refused(url, folder / f"site-{number}")]
    return bad + [f"ssrf: {visit} was requested" for visit in listener.visits]


async def _refused(url: str, folder: Path) -> list[str]:
    try:
        async with asyncio.timeout(LATEST_SECONDS):
            await mirror(url, folder, options=SiteOptions(), resolve=resolve)
    except BadSource:
        return []
    except (BookwiseError, TimeoutError) as error:
        return [f"not refused, but {type(error).__name__}"]
    return ["mirrored"]
