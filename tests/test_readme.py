"""README's pictures exist, say in words what they show, and can be made again; its links lead somewhere."""

import csv
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from images.photograph_pages import PICTURES, Picture, main

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"!\[(.*?)\]\((.*?)\)", README)
ANCHORS = re.findall(r"\]\(#([^)]+)\)", README)
HEADINGS = {line.lstrip("# ").lower().replace(" ", "-") for line in README.splitlines() if line.startswith("#")}


def test_readme_shows_the_pictures_that_the_program_makes() -> None:
    """No more and no fewer, so `make pictures` renews each."""
    assert sorted(path for _, path in SHOWN) == sorted(f"images/{each.name}" for each in PICTURES)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_there_in_its_size(picture: Picture) -> None:
    """A PNG file as wide and as high as it is photographed."""
    data = (ROOT / "images" / picture.name).read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == (picture.width, picture.height)


@pytest.mark.parametrize(("words", "path"), SHOWN)
def test_a_picture_has_alternative_text(words: str, path: str) -> None:
    """A sentence of its own, not the file's name."""
    assert len(words.split()) >= 8, path


@pytest.mark.parametrize("document", ["README.md", "docs/jupyterhub.md"])
def test_links_lead_somewhere(document: str) -> None:
    """Links to files of the repository, from where the document is."""
    text = (ROOT / document).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert links
    assert [link for link in links if not ((ROOT / document).parent / link).exists()] == []


def test_anchors_lead_to_headings() -> None:
    """Each link within README has its heading."""
    assert set(ANCHORS) <= HEADINGS


@pytest.mark.full("bundles the lessons, and grades one", seconds=40)
def test_the_path_from_nothing_to_a_graded_lesson_is_as_it_stands_here(tmp_path: Path) -> None:
    """Ten lines, of which the first two set up the environment that this test runs in."""
    section = README.split("### A class without a hub\n")[1]
    lines = section.split("```\n")[1].splitlines()
    assert len(lines) == 10
    assert lines[:2] == ["make setup", ". .venv/bin/activate"]
    for name in ("nbgrader_config.py", "requirements.txt", "requirements-pretrained.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("source", "release", "solutions", "coursework"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    program = tmp_path / "autograder"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m autograder "$@"\n')
    program.chmod(0o755)
    path = (tmp_path, Path(sys.executable).parent, os.environ["PATH"])  # what the second line does
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": os.pathsep.join(map(str, path))}
    script = "\n".join(["set -e", *lines[2:]])
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 student added" in done.stdout
    with zipfile.ZipFile(tmp_path / "dist" / "transformer-lessons.zip") as bundle:
        assert any("03_attention.ipynb" in name for name in bundle.namelist())
    with (tmp_path / "exports" / "course.csv").open(newline="", encoding="utf-8") as file:
        (ada,) = csv.DictReader(file)
    assert (ada["student"], ada["name"], ada["03_attention state"]) == ("ada", "Ada Lovelace", "graded")


def test_without_the_invented_class_the_program_says_what_to_do(tmp_path: Path) -> None:
    """It names what is missing and the command that makes it."""
    with pytest.raises(SystemExit, match=r"reports/class\.html.*make demo"):
        main(tmp_path)
