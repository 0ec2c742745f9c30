"""Scripts that pages carry inside them: from pinned npm packages, checked by hash, licences kept.

`python -m tools.vendor` fetches every script again and checks its hash. With `--check` it compares the
scripts in the repository with their hashes, without a network. Slides and views of attention carry these
scripts, so that they open without one.

`vendor.json` beside this module names each package, its version, npm's own digest of it, and the
files taken from it with their digests. The files themselves are in the repository: only fetching
them again needs npm and a network.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pydantic import BaseModel, TypeAdapter

from autograder.model.files import write

MANIFEST: Final = Path(__file__).with_name("vendor.json")
ROOT: Final = Path(__file__).resolve().parent.parent


class VendorError(Exception):
    """A script could not be fetched, or is not the one that was pinned."""


class VendoredFile(BaseModel):
    """A file of a package, where it lies in the repository, and its SHA-256."""

    inside: str
    path: str
    sha256: str


class Package(BaseModel):
    """An npm package: `integrity` is npm's SHA-512 of it, in base64."""

    name: str
    version: str
    licence: str
    integrity: str
    files: list[VendoredFile]


def packages() -> list[Package]:
    """Return what the manifest names."""
    return TypeAdapter(list[Package]).validate_json(MANIFEST.read_bytes())


def fetch(root: Path) -> list[Path]:
    """Fetch every package with npm, check it, and write its files; return those that changed.

    Raises VendorError where npm fails, or a package or a file is not the one that was pinned.
    """
    written = []
    for package in packages():
        contents = _unpacked(package)
        for file in package.files:
            _agree(hashlib.sha256(contents[file.inside]).hexdigest(), file.sha256, file.path)
            if write(root / file.path, contents[file.inside]):
                written.append(root / file.path)
    return written


def check(root: Path) -> None:
    """Compare the files in the repository with the manifest. Raises VendorError."""
    for package in packages():
        for file in package.files:
            path = root / file.path
            found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
            if found != file.sha256:
                raise VendorError(
                    f"{file.path} is not the file of {package.name} {package.version}: expected "
                    f"SHA-256 {file.sha256}, got {found}; run 'make vendor'"
                )


def _unpacked(package: Package) -> dict[str, bytes]:
    """Return the files of a package that the manifest names, fetched by npm."""
    wanted = {f"package/{file.inside}": file.inside for file in package.files}
    with TemporaryDirectory() as folder:
        archive = _packed(f"{package.name}@{package.version}", Path(folder))
        digest = hashlib.sha512(archive.read_bytes()).digest()
        _agree(f"sha512-{base64.b64encode(digest).decode()}", package.integrity, package.name)
        with tarfile.open(archive) as tar:
            members = {name: tar.extractfile(name) for name in wanted}
            return {wanted[name]: file.read() for name, file in members.items() if file}


def _packed(spec: str, folder: Path) -> Path:
    """Let npm fetch a package into a folder, and return the archive."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), spec]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - pinned
    except FileNotFoundError:
        raise VendorError(f"npm fetches {spec}, and it is not installed") from None
    except subprocess.CalledProcessError as failed:
        raise VendorError(f"npm could not fetch {spec}: {failed.stderr.strip()[-300:]}") from None
    return next(folder.glob("*.tgz"))


def _agree(found: str, expected: str, what: str) -> None:
    """Raise VendorError where a digest is not the pinned one."""
    if found != expected:
        raise VendorError(
            f"{what} is not what was pinned: expected {expected}, got {found}; if the version was "
            f"raised on purpose, change {MANIFEST.name} after looking at what came"
        )


if __name__ == "__main__":
    check(ROOT) if "--check" in sys.argv else fetch(ROOT)
    print("every script is the one that was pinned")
