#!/usr/bin/env bash
# Builds and tests the last commit in a fresh root of another Debian release, which has nothing but
# its base system: what ./dev installs and what the code needs are both tried. Root only.
#   elsewhere.sh RELEASE [--mirror URI] [--keep] [-- arguments of ./dev test...]
# The root is made by debootstrap and removed at the end, unless --keep is given.
set -euo pipefail

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

note() { printf 'elsewhere: %s\n' "$*" >&2; }
fail() {
    printf 'elsewhere: error: %s\n' "$*" >&2
    exit 1
}

# shellcheck source=tools/debian_sources.sh
. "$root/tools/debian_sources.sh"

# The mirror that this machine takes its own packages from.
own_mirror() {
    local suite archive
    for suite in bookworm trixie oldstable stable; do
        archive=$(archive_of_suite "$suite")
        if [ -n "$archive" ]; then
            printf '%s' "${archive%% *}"
            return
        fi
    done
}

# Runs in namespaces of its own, so that nothing that was mounted or started stays behind.
inside() {
    local there=$1
    shift
    mount -t proc proc "$there/proc"
    mount --rbind /sys "$there/sys"
    mount --rbind /dev "$there/dev"
    mount -t tmpfs tmpfs "$there/tmp"
    # The listed variables are how a machine behind a proxy reaches the mirror.
    exec chroot "$there" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${JOBS:+JOBS="$JOBS"} /root/rota/dev "$@"
}

if [ "${1:-}" = --inside ]; then
    shift
    inside "$@"
fi

release=''
mirror=''
keep=false
while [ $# -gt 0 ]; do
    case $1 in
    --mirror)
        mirror=${2:?--mirror needs a URI}
        shift
        ;;
    --keep) keep=true ;;
    --)
        shift
        break
        ;;
    -*) fail "unknown option $1" ;;
    *)
        [ -z "$release" ] || break
        release=$1
        ;;
    esac
    shift
done
[ -n "$release" ] || fail "which release? for example: trixie"
[ "$(id -u)" -eq 0 ] || fail "needs root, for debootstrap and chroot"
[ -n "$mirror" ] || mirror=$(own_mirror)
[ -n "$mirror" ] || fail "apt here knows no Debian archive: name one by --mirror URI"
[ -z "$(git -C "$root" status --porcelain)" ] || note "what is not committed is not tried"

there=$(mktemp -d "${TMPDIR:-/var/tmp}/rota-$release.XXXXXX")
leave() {
    if $keep; then
        note "kept: $there"
    else
        rm -rf --one-file-system "$there"
    fi
}
trap leave EXIT

note "making a root of $release in $there"
debootstrap --variant=minbase --include=ca-certificates "$release" "$there" "$mirror" \
    >"$there.log" 2>&1 || fail "debootstrap failed: see $there.log"
rm -f "$there.log"
chmod 755 "$there" # for the users that tests become
cp -L /etc/resolv.conf /etc/hosts "$there/etc/"
grep -l '^ *Acquire::' /etc/apt/apt.conf.d/* 2>/dev/null |
    xargs -r cp -t "$there/etc/apt/apt.conf.d/" || true
# Packages of servers start them, which nobody asked for here.
printf '#!/bin/sh\nexit 101\n' >"$there/usr/sbin/policy-rc.d"
chmod +x "$there/usr/sbin/policy-rc.d"
mkdir -p "$there/root/rota"
git -C "$root" archive HEAD | tar -x -C "$there/root/rota"

for command in build test; do
    note "$release: ./dev $command"
    arguments=()
    [ "$command" = build ] || arguments=("$@")
    unshare --mount --pid --fork --kill-child --propagation private -- \
        "${BASH_SOURCE[0]}" --inside "$there" "$command" "${arguments[@]}" ||
        fail "$release: ./dev $command failed"
done
note "$release: built, and all tests passed"
