#!/bin/bash
# Runs a program of arm64 or of musl: usage: enter.sh TOOLS BUILT PROGRAM ARGUMENT...
# The program sees a system that can start such programs (qemu is registered in a binfmt_misc of this namespace only),
# that has their libraries in the usual places, and that has the files of the folder BUILT in native/build.
set -e
export TOOLS=$1 BUILT=$2
shift 2
exec unshare --user --map-root-user --mount bash -ec '
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
elf="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"
mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff"
printf "%s" ":qemu-aarch64:M::$elf\x02\x00\xb7\x00:$mask\xfe\xff\xff\xff:$TOOLS/qemu/usr/bin/qemu-aarch64:FP" > /proc/sys/fs/binfmt_misc/register
mount -t overlay none -o "lowerdir=$TOOLS/libraries/lib:$TOOLS/libraries/usr/lib:/usr/lib" /usr/lib
if [ -d "$BUILT" ]; then mount --bind "$BUILT" "$(dirname "$0")/../../native/build"; fi
unset TOOLS BUILT
exec "$@"' "$0" "$@"
