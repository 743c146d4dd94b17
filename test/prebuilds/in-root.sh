#!/bin/sh
# Runs a command in the root directory of another Linux, also of arm64: its programs are started by qemu, as is what they
# start. Directories of this machine (several: A:B) are there under their own paths. Nothing is mounted or registered for
# other processes, and no privilege is needed, but Linux 6.7, where namespaces have binfmt_misc of their own.
#
#   sh test/prebuilds/in-root.sh ROOT DIRECTORIES COMMAND...
set -eu
command -v qemu-aarch64-static >/dev/null
exec unshare --user --map-root-user --mount sh -euc '
  root=$1 directories=$2
  shift 2
  mkdir -p "$root/tmp" "$root/dev" "$root/proc"
  mount -t tmpfs none "$root/tmp"
  mkdir "$root/tmp/formats"
  mount -t binfmt_misc none "$root/tmp/formats"
  # ELF for arm64. F: the emulator is opened now, since the root has none.
  magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
  mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
  printf ":arm64:M::%s:%s:%s:F" "$magic" "$mask" "$(command -v qemu-aarch64-static)" >"$root/tmp/formats/register"
  mount --rbind /dev "$root/dev"
  mount --rbind /proc "$root/proc"
  IFS=:
  for directory in $directories; do
    mkdir -p "$root$directory"
    mount --rbind "$directory" "$root$directory"
  done
  exec chroot "$root" "$@"
' sh "$@"
