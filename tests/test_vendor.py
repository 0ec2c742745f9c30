"""Scripts in the repository are those that were pinned, and what is fetched is checked."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT

from tools import vendor


def test_every_script_is_the_one_that_was_pinned() -> None:
    """Files and manifest agree, each package with its licence beside it."""
    vendor.check(ROOT)
    for package in vendor.packages():
        assert any(file.path.endswith(".LICENSE") for file in package.files)
    folders = [ROOT / "coursework/vendor", ROOT / "autograder/lecture/vendor"]
    named = {ROOT / file.path for package in vendor.packages() for file in package.files}
    assert {path for folder in folders for path in folder.iterdir()} == named


def test_a_script_that_was_changed_is_found(tmp_path: Path) -> None:
    """One byte is enough, and a missing file too."""
    for package in vendor.packages():
        for file in package.files:
            (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.path).write_bytes((ROOT / file.path).read_bytes())
    changed = tmp_path / "coursework/vendor/d3.min.js"
    changed.write_bytes(changed.read_bytes() + b" ")
    with pytest.raises(vendor.VendorError, match=r"d3 5\.16\.0"):
        vendor.check(tmp_path)
    changed.unlink()
    with pytest.raises(vendor.VendorError, match="missing"):
        vendor.check(tmp_path)


def archive(folder: Path, content: bytes) -> tuple[Path, vendor.Package]:
    """Write a package with one file as npm would, and return it with a manifest that fits."""
    path = folder / "thing-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo("package/thing.js")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    file = vendor.VendoredFile(
        inside="thing.js", path="here/thing.js", sha256=hashlib.sha256(content).hexdigest()
    )
    package = vendor.Package(
        name="thing", version="1.0.0", licence="MIT", integrity=f"sha512-{digest}", files=[file]
    )
    return path, package


def test_what_is_fetched_is_checked_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package against npm's digest, then each file against ours; nothing else is written."""
    path, package = archive(tmp_path, b"let thing;")
    monkeypatch.setattr(vendor, "_packed", lambda spec, folder: path)
    monkeypatch.setattr(vendor, "packages", lambda: [package])
    assert vendor.fetch(tmp_path) == [tmp_path / "here/thing.js"]
    assert vendor.fetch(tmp_path) == []
    package.files[0].sha256 = "0" * 64
    with pytest.raises(vendor.VendorError, match=r"here/thing\.js is not what was pinned"):
        vendor.fetch(tmp_path)
    package.integrity = "sha512-other"
    with pytest.raises(vendor.VendorError, match="thing is not what was pinned"):
        vendor.fetch(tmp_path)


def test_without_npm_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trace of Python, but what is missing."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(vendor.VendorError, match="not installed"):
        vendor.fetch(Path())
