#!/usr/bin/env bash
# Static checks: tidy rules, format, shell scripts, cppcheck, clang-tidy. A tool that is absent, or
# of another version than the one that fixes the format, is skipped with a word.
#   lint.sh             all
#   lint.sh --quick     without clang-tidy
#   lint.sh --format    rewrites the sources in the format
set -uo pipefail

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
format_version=14
status=0

step() { printf 'lint: %s\n' "$*"; }
skip() { printf 'lint: skipped %s\n' "$*"; }

cpp_files() {
    local folder folders=()
    for folder in framework io apps bench examples tests; do
        [ ! -d "$folder" ] || folders+=("$folder")
    done
    find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' \) "$@" -print0 | sort -z
}

# The clang-format that fixes the format, or nothing.
formatter() {
    local candidate
    for candidate in "clang-format-$format_version" clang-format; do
        if "$candidate" --version 2>/dev/null | grep -q "version $format_version\."; then
            printf '%s' "$candidate"
            return
        fi
    done
}

format() {
    local tool
    tool=$(formatter)
    if [ -z "$tool" ]; then
        skip "format: needs clang-format $format_version"
        return
    fi
    cpp_files | xargs -0 -r -P "$(nproc)" -n 16 "$tool" --style=file "$@"
}

# clang-tidy over every source of the clang build; headers are seen through them.
tidy_sources() {
    local tool=clang-tidy-19
    if ! command -v "$tool" >/dev/null || [ ! -f build-clang/compile_commands.json ]; then
        skip "clang-tidy: needs $tool and a configured build-clang (./dev lint)"
        return
    fi
    cpp_files -not -path 'tests/*' -not -path 'bench/*peers/*' -name '*.cpp' |
        xargs -0 -r -P "${JOBS:-$(nproc)}" -n 1 \
            "$tool" -p build-clang --quiet --warnings-as-errors='*' 2>/dev/null
}

# Three checks do not know coroutines: one that they return, one that their parameters are values,
# as they have to be, and one that takes names of different ones for the same (clang-tidy has it).
cppcheck_sources() {
    if ! command -v cppcheck >/dev/null; then
        skip cppcheck
        return
    fi
    cppcheck --enable=warning,performance,portability --std=c++20 --quiet --inline-suppr \
        --suppress=missingReturn --suppress=passedByValue --suppress=accessMoved \
        --error-exitcode=1 \
        --template='{file}:{line}: {id}: {message}' -j "${JOBS:-$(nproc)}" \
        -I framework/include -I json/include -I io/include -I io/http/include \
        -I io/files/include -I io/http1/include -I io/http2/include \
        -I io/http_server/include -I apps \
        framework/src json/src io/src io/http/src io/http1/src io/http2/src \
        io/http_server/src apps bench -i bench/peers -i bench/micro/peers
}

if [ "${1:-}" = --format ]; then
    format -i
    exit
fi

step tidy rules
python3 tests/tidy/tidy.py "$root" || status=1
step format
format --dry-run --Werror || status=1
if command -v shellcheck >/dev/null; then
    step shell scripts
    shellcheck -x dev .ci/run .githooks/pre-commit bench/peers/build bench/run tools/lint.sh ||
        status=1
else
    skip shellcheck
fi
step cppcheck
cppcheck_sources || status=1
if [ "${1:-}" != --quick ]; then
    step clang-tidy
    tidy_sources || status=1
fi
[ "$status" -eq 0 ] && printf 'lint: clean\n'
exit "$status"
