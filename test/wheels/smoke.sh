#!/bin/sh
# Installs a wheel of a directory, or of pip's index, into an empty environment, and swaps two small experts there, on a
# platform that has no more than Python:
#
#   sh test/wheels/smoke.sh [DIRECTORY]
set -eu
wheels=${1:+$(cd "$1" && pwd)}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv environment
environment/bin/pip install --quiet --only-binary :all: ${wheels:+--find-links "$wheels"} layerloom
environment/bin/layerloom doctor
environment/bin/python "$here/smoke.py" environment/bin/layerloom
