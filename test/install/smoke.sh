#!/bin/sh
# Installs a tarball, or a name of npm's registry, into an empty project and swaps two small experts there, on a platform
# that has no more than Node:
#
#   sh test/install/smoke.sh TARBALL|NAME
set -eu
package=$1
if test -e "$1"; then package=$(cd "$(dirname "$1")" && pwd)/$(basename "$1"); fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '{"private": true}' >package.json
npm install --no-audit --no-fund "$package"
npx --no-install layerloom doctor
cp "$here/smoke.mjs" .
node smoke.mjs
node -e "console.log(require('layerloom').instructionSets())"
