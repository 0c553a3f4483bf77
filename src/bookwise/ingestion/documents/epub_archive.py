"""The ZIP archive of an EPUB → its members, within limits."""

import io
import struct
import zipfile
import zlib
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from bookwise.domain.errors import BadLesson

MAX_MEMBERS = 20_000
MAX_MEMBER_BYTES = 16 * 1024 * 1024
MAX_READ_BYTES = 256 * 1024 * 1024  #: of all members that are read
MAX_DIRECTORY_BYTES = 16 * 1024 * 1024

_END_RECORD = b"PK\x05\x06"
_DIRECTORY_SIZE = 12  #: offset in the end record
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


class EpubArchive:
    """Reads members by name. Nothing is written to disk, so a name can point to nothing outside the archive."""

    def __init__(self, raw: bytes) -> None:
        """Raises `BadLesson` when this is not an archive or it is too large."""
        _require_small_directory(raw)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except _DAMAGE as error:
            raise _damaged_archive() from error
        self._members = {member.filename: member for member in self._zip.infolist()}
        if len(self._members) > MAX_MEMBERS:
            raise BadLesson("too-large", f"The EPUB has {len(self._members):,} files; the limit is {MAX_MEMBERS:,}.")
        self._read_bytes = 0

    def has(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """The bytes of a member. Raises `BadLesson` when it is missing, damaged or too large."""
        member = self._members.get(name)
        if member is None:
            raise BadLesson("missing", f"The EPUB does not contain the file {name[:200]}.")
        try:
            with self._zip.open(member) as file:
                content = file.read(MAX_MEMBER_BYTES + 1)
        except _DAMAGE as error:
            raise BadLesson("damaged", f"{name[:200]} in the EPUB is damaged.") from error
        self._read_bytes += len(content)
        if len(content) > MAX_MEMBER_BYTES or self._read_bytes > MAX_READ_BYTES:
            raise BadLesson(
                "too-large",
                f"{name[:200]} is too large: the limits are {MAX_MEMBER_BYTES:,} bytes for one file and "
                f"{MAX_READ_BYTES:,} for all files of an EPUB.",
            )
        return content

    def tree(self, name: str) -> Element:
        """An XML file as a tree without namespaces. Raises `BadLesson`."""
        try:
            return xml_tree(self.read(name))
        except (expat.ExpatError, AssertionError, ValueError, LookupError) as error:
            raise BadLesson("damaged", f"{name[:200]} in the EPUB is not valid XML.") from error


def _require_small_directory(raw: bytes) -> None:
    """The directory of an archive is read as a whole, so its size is checked first."""
    end = raw.rfind(_END_RECORD)
    if not raw.startswith(b"PK") or not 0 <= end <= len(raw) - 22:
        raise _damaged_archive()
    (size,) = struct.unpack_from("<L", raw, end + _DIRECTORY_SIZE)
    if size > MAX_DIRECTORY_BYTES:
        raise BadLesson("too-large", "The EPUB contains too many files.")


def _damaged_archive() -> BadLesson:
    return BadLesson("damaged", "The file is damaged or not an EPUB. Download or export it again.")


def xml_tree(raw: bytes) -> Element:
    """The root element. Entities are refused: they can expand to any size. Raises `ExpatError` or `ValueError`."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(_local(tag), {_local(name): value for name, value in attributes.items()})

    def refuse(*declaration: object) -> None:
        raise ValueError("The XML declares entities.")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.end(_local(tag))
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    parser.Parse(raw, True)
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]
