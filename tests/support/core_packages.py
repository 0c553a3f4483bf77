"""The packages that Bookwise needs without any extra, as the test environment has them."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement


def core() -> dict[str, Distribution]:
    """The installed packages that Bookwise requires without any extra, directly or indirectly."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement("bookwise")]
    while waiting:
        required = waiting.pop()
        try:
            package = distribution(required.name)
        except PackageNotFoundError:
            continue  # left out of the lock on purpose: lock-excludes.txt
        found[package.name] = package
        extras = [{"extra": extra} for extra in ("", *required.extras)]
        needed = (Requirement(line) for line in package.requires or ())
        needed = (one for one in needed if one.marker is None or any(map(one.marker.evaluate, extras)))
        waiting += (one for one in needed if one.name not in found)
    return found


def link_packages(target: Path, packages: dict[str, Distribution]) -> None:
    """Links the files of these packages, as whole folders where no other package has a file in them."""
    site = Path(str(distribution("pip").locate_file("")))
    others = [one for one in distributions(path=[str(site)]) if one.name not in packages]
    shared = {folder for one in others for file in one.files or () for folder in file.parents}
    for package in packages.values():
        for file in package.files or ():
            own = next((path for path in (*reversed(file.parents), file) if path not in shared), file)
            link = target / own
            if ".." not in own.parts and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(site / own)
