"""Limits for reading a live site, and which hosts may be contacted."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """Limits of one mirror run."""

    allow_private: bool = False  #: also read sites on this machine and in private networks
    max_pages: int = 2_000
    max_page_bytes: int = 2 * MIB  #: checked before and after decompression
    max_total_bytes: int = 512 * MIB
    request_seconds: float = 20.0  #: per page, including redirects and body
    total_seconds: float = 1_800.0
    max_redirects: int = 5
    concurrency: int = 4
