# Finds Pythons; to be read with `.` by other scripts. A python3.x on the path may be a shim that does not run,
# so each is tried.

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The version of a Python, such as 3.12.1; "not there" if it does not run.
version_of() {
    "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || echo "not there"
}

# The package of Debian and Ubuntu with which a Python can make virtual environments.
venv_package() {
    case $(command -v "$1") in
    */python3 | "") echo python3-venv ;;
    *) "$1" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])' ;;
    esac
}

# python3 if it is new enough, else the newest python3.x; nothing if there is none.
first_new_enough() {
    for each in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$each"; then
            echo "$each"
            return
        fi
    done
}

# A Python of one version, such as 3.12: on the path, or one of pyenv's; nothing if there is none.
find_python() {
    for each in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if is_new_enough "$each"; then
            echo "$each"
            return
        fi
    done
}
