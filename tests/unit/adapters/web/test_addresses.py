"""Which addresses of the web may be visited."""

from ipaddress import ip_address

import pytest

from bookwise.adapters.web.addresses import host_of, literal_address, refusal, site_url
from bookwise.domain.errors import BadSource

PRIVATE = [
    *(
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
    ),
    *("::1", "fc00::1", "fd12:3456::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1"),
]
NEVER = [
    *("169.254.169.254", "169.254.1.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"),
    *("fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
    *("0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "ff02::1"),
    *("192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.88.99.1"),
    *(
        "::",
        "::7f00:1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2001::1",
        "3fff::1",
        "64:ff9b:1::1",
        "100::1",
        "fec0::1",
    ),
]
PUBLIC = [
    *("1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111"),
    *("::ffff:1.1.1.1", "64:ff9b::101:101"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_visited_only_where_they_are_allowed(address: str) -> None:
    assert refusal(ip_address(address), allow_private=False)
    assert not refusal(ip_address(address), allow_private=True)


@pytest.mark.parametrize("address", NEVER)
def test_link_local_metadata_multicast_and_reserved_addresses_are_never_visited(address: str) -> None:
    assert refusal(ip_address(address), allow_private=False)
    assert refusal(ip_address(address), allow_private=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_visited(address: str) -> None:
    assert refusal(ip_address(address), allow_private=False) == ""
    assert refusal(ip_address(address), allow_private=True) == ""


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "this machine"),
        ("10.0.0.1", "a private network"),
        ("169.254.169.254", "a link-local address"),
        ("168.63.129.16", "a cloud metadata service"),
        ("224.0.0.1", "a multicast address"),
        ("::7f00:1", "a reserved address"),
    ],
)
def test_a_refusal_says_what_the_address_is(address: str, reason: str) -> None:
    assert refusal(ip_address(address), allow_private=False) == reason


@pytest.mark.parametrize(
    "text",
    [
        *("", "lessons", "lessons.example", "//lessons.example/", "http://", "http:///path", "https://?q"),
        *("ftp://lessons.example/", "file:///etc/passwd", "gopher://lessons.example/", "javascript:alert(1)"),
        *(
            "http://me@lessons.example/",
            "http://me:pass@lessons.example/",
            "http://127.0.0.1@lessons.example/",
        ),
        *("http://@lessons.example/", "http://lessons.example@127.0.0.1/", "http://a@b@c/"),
        *(
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
        ),
        *(
            "http://0/",
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
            "http://lessons.0x/",
            "http://017700000001/",
        ),
        *(
            "http://１２７.０.０.１/",
            "http://①②⑦.0.0.1/",
            "http://127.0.0.1%00.example/",
            "http://ex%61mple/",
        ),
        *("http://lessons.example\\@127.0.0.1/", "http:\\\\127.0.0.1/", "http://lessons.example/a b"),
        *("http://lessons.example/\n", "http://les\tsons.example/", " http://lessons.example/"),
        *("http://[fe80::1%25eth0]/", "http://[::1", "http://::1/", "http://[127.0.0.1]/", "http://[::1]x/"),
        *("http://lessons.example:0/", "http://lessons.example:65536/", "http://lessons.example:x/"),
        *("http://-lessons.example/", "http://lessons..example/", "http://./", "http://les!sons.example/"),
        "http://lessons.example/" + "x" * 2_048,
    ],
)
def test_an_address_with_two_readings_or_none_is_refused(text: str) -> None:
    with pytest.raises(BadSource) as caught:
        site_url(text)
    assert caught.value.advice
    assert len(caught.value.message) < 400


def test_a_refused_address_does_not_show_its_password() -> None:
    with pytest.raises(BadSource) as caught:
        site_url("https://me:swordfish@lessons.example/")
    assert "swordfish" not in caught.value.message + caught.value.advice


@pytest.mark.parametrize(
    ("text", "url", "host"),
    [
        ("https://Lessons.Example:443/Book/#top", "https://lessons.example/Book/", "lessons.example"),
        ("http://lessons.example./a/../b", "http://lessons.example./b", "lessons.example"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://93.184.216.34:8080/x?q=a@b", "http://93.184.216.34:8080/x?q=a@b", "93.184.216.34"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/", "2606:4700::1111"),
        ("http://lessons.example?q=a@b", "http://lessons.example?q=a@b", "lessons.example"),
    ],
)
def test_a_plain_address_is_read_one_way(text: str, url: str, host: str) -> None:
    read = site_url(text)
    assert (str(read), host_of(read)) == (url, host)


def test_a_name_is_no_literal_address() -> None:
    assert literal_address("lessons.example") is None
    assert literal_address("::1") == ip_address("::1")
