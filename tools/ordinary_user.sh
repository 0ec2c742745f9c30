#!/bin/sh
# Runs the sandbox's tests as an ordinary user, with the distribution's own Python, when started as root.
#
#   tools/ordinary_user.sh
#
# The user is made if it is not there. It gets a copy of the working tree in its own home folder.
set -eu
cd "$(dirname "$0")/.."
. tools/pythons.sh

user=coursework-tester
tests=${TESTS:-tests/sandbox/test_trial.py tests/sandbox/test_client.py tests/sandbox/test_isolation.py}

if [ "$(id -u)" != 0 ]; then
    echo "note: this is an ordinary user already, so the sandbox's tests are not run as another"
    exit 0
fi
python=/usr/bin/python3
if ! is_new_enough $python || ! $python -c 'import venv, ensurepip' 2>/dev/null || ! command -v runuser >/dev/null; then
    echo "note: the sandbox's tests are not run as an ordinary user: $python is $(version_of $python), and needs python3-venv"
    exit 0
fi
id $user >/dev/null 2>&1 || useradd --create-home $user
home=$(getent passwd $user | cut -d: -f6)
mkdir -p "$home/course"
find "$home/course" -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read 2>/dev/null |
    tar --extract --directory "$home/course"
chown -R $user: "$home"
runuser -u $user -- env HOME="$home" USER=$user PATH=/usr/bin:/bin \
    sh -c "cd ~/course && make setup PYTHON=$python && .venv/bin/python -m pytest -n auto --maxprocesses 4 $tests"
