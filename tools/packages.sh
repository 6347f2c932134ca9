# Installs the packages that a command of ./dev needs and this machine lacks. Sourced by ../dev.
# shellcheck shell=bash

# shellcheck source=tools/debian_sources.sh
. "$root/tools/debian_sources.sh"

# "package" or "package>=version". What is too old here and has a wrap is left to Meson.
packages_build=(
    g++ 'meson>=1.3' ninja-build pkg-config ccache
    'liburing-dev>=2.3' 'libllhttp-dev>=9.2' libspdlog-dev libfmt-dev
    libcli11-dev 'libyyjson-dev>=0.8' 'catch2>=3' libsqlite3-dev
    libpq-dev libssl-dev
    zlib1g-dev libbrotli-dev libzstd-dev
    'libnghttp2-dev>=1.52'
)
packages_test=(
    cmake make python3 curl gdb nodejs postgresql chromium chromium-driver redis-tools
    brotli zstd haproxy nginx node-ws python3-websockets python3-wsproto
    nghttp2-client python3-httpx python3-h2 golang-go
)
packages_bench=(wrk nginx python3 valgrind linux-perf nghttp2-client)
packages_bench_peers=(python3 golang-go libasio-dev libfmt-dev)
# Of bench/peers/peers.json: the whole bench does without those that cannot be had, and says so.
packages_peers=(
    h2o nghttp2-server libboost-dev golang-go golang-github-gorilla-websocket-dev
    cargo rustc librust-hyper-dev libasio-dev
)
packages_bench_jobs=(python3 postgresql redis-server)
packages_instructions=(python3 valgrind)
packages_clang=(clang-19 libclang-rt-19-dev)
packages_format=(clang-format)
packages_lint=(git shellcheck cppcheck clang-tidy-19 "${packages_clang[@]}" "${packages_format[@]}")
# Called otherwise elsewhere, or only to compare with: what needs them does without.
dispensable=" gdb linux-perf postgresql redis-server redis-tools chromium chromium-driver "
dispensable+='brotli zstd haproxy nginx node-ws python3-websockets python3-wsproto '
dispensable+='nghttp2-client python3-httpx python3-h2 golang-go '
dispensable+="${packages_peers[*]} "
with_wrap=' liburing-dev libllhttp-dev libspdlog-dev libfmt-dev catch2 libcli11-dev libyyjson-dev '

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=300 -q "$@" </dev/null >&2
}

# Prints those of the packages "$@" that are not installed, or too old.
missing_packages() {
    local want name least version installed
    installed=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status} ${Version}\n' 2>/dev/null |
        sed -n 's/^\([^ :]*\)\(:[^ ]*\)\? installed /\1 /p')
    for want in "$@"; do
        name=${want%%>=*}
        least=${want#"$name"}
        version=$(sed -n "s/^$name //p" <<<"$installed")
        if [ -z "$version" ] || ! dpkg --compare-versions "$version" ge "${least#>=}"; then
            printf '%s\n' "$want"
        fi
    done
}

# Prints the names of those of the packages "$@" that apt can install; says which ones Meson has to
# take as a wrap from subprojects/ (by git, over the network).
installable_packages() {
    local want name least candidate
    for want in "$@"; do
        name=${want%%>=*}
        least=${want#"$name"}
        candidate=$(apt-cache policy "$name" | sed -n 's/^  Candidate: //p')
        if [ -n "$candidate" ] && [ "$candidate" != '(none)' ] &&
            dpkg --compare-versions "$candidate" ge "${least#>=}"; then
            printf '%s\n' "$name"
        elif [[ $with_wrap == *" $name "* ]]; then
            note "$want is not packaged here (candidate: ${candidate:-none}): Meson takes the wrap"
            printf 'git\nca-certificates\n'
        elif [[ $dispensable == *" $name "* ]]; then
            note "$want is not packaged here: done without"
        else
            fail "$want is needed and not packaged here (candidate: ${candidate:-none})"
        fi
    done | sort -u
}

# Installs what is missing of the packages "$@"; does nothing if nothing is.
need_packages() {
    local missing names
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        note "no apt here: install what Meson misses yourself (${*})"
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    # Asked once already and answered with a wrap: do not ask again.
    [ "$(cat "$root/.cache/left-to-wraps" 2>/dev/null)" != "${missing[*]}" ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        fail "not root and no sudo: cannot install ${missing[*]}"
    fi
    note "installing ${missing[*]}"
    # shellcheck source=/dev/null
    if [ "$(. /etc/os-release && printf '%s %s' "$ID" "${VERSION_ID:-}")" = 'debian 12' ]; then
        add_debian12_suites
    fi
    apt update
    names=$(installable_packages "${missing[@]}") || exit 1
    # shellcheck disable=SC2086  # one word per package
    apt install --yes --no-install-recommends $names
    mapfile -t missing < <(missing_packages "$@")
    mkdir -p "$root/.cache"
    printf '%s\n' "${missing[*]}" >"$root/.cache/left-to-wraps"
}
