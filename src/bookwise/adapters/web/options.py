"""What reading a live site may cost, and whom it may reach."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """Limits of one visit."""

    allow_private: bool = False  #: also sites on this machine and in private networks
    max_pages: int = 2_000
    max_page_bytes: int = 2 * MIB  #: as sent, and again after decompression
    max_total_bytes: int = 512 * MIB
    request_seconds: float = 20.0  #: for one page, redirects and body included
    total_seconds: float = 1_800.0
    max_redirects: int = 5
    concurrency: int = 4
