#!/bin/sh
# Runs the tests of the sandbox, the probe and three lessons with other Pythons, and with the newest torch.
#
#   tools/matrix.sh                each Python from 3.11 to 3.14 that is here, and the newest torch
#   tools/matrix.sh 3.13           this one alone
#   tools/matrix.sh newest-torch   the newest torch alone
#
# Environments are kept in .matrix/, each of up to 6 GB: on most machines, PyPI's torch comes with CUDA.
# TESTS names the files of a smaller set; SET_UP_SECONDS limits the time to build an environment.
set -u
cd "$(dirname "$0")/.."
. tools/pythons.sh

lessons="tests/lessons/test_encoder.py tests/lessons/test_multi_head_attention.py tests/lessons/test_decoder.py"
tests=${TESTS:-tests/sandbox tests/probe $lessons}
told=""
failed=0

note() { told="$told
$1"; }

run_in() { # the name of an environment, and its Python
    folder=.matrix/$1
    timeout "${SET_UP_SECONDS:-3600}" tools/set_up.sh "$folder" "$2"
    status=$?
    if [ $status != 0 ]; then
        if [ $status = 124 ]; then
            note "$1: left out, its environment was not built within $SET_UP_SECONDS s"
        else
            note "$1: its environment cannot be built"
            failed=1
        fi
        return
    fi
    what="Python $(version_of "$folder/bin/python"), $("$folder/bin/python" -m pip list 2>/dev/null | awk '$1 == "torch" {print "torch", $2}')"
    # shellcheck disable=SC2086 # several files
    if "$folder/bin/python" -m pytest -n auto --maxprocesses 4 $tests; then
        note "$1: passed with $what"
    else
        note "$1: FAILED with $what"
        failed=1
    fi
}

for each in ${*:-3.11 3.12 3.13 3.14 newest-torch}; do
    if [ "$each" = newest-torch ]; then
        TORCH=torch run_in "$each" "$(first_new_enough)"
    elif python=$(find_python "$each") && [ -n "$python" ]; then
        run_in "$each" "$python"
    else
        note "$each: not here"
    fi
done
echo "$told"
exit $failed
