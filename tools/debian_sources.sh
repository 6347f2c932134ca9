# Debian 12 has Catch2 2, Meson 1.0 and no llhttp; its backports and trixie have what Rota needs.
# Sourced by packages.sh. Writes two files, from the mirror that this machine already uses.
# shellcheck shell=bash

rota_sources_file=/etc/apt/sources.list.d/rota.sources
rota_preferences_file=/etc/apt/preferences.d/rota

# Prints "<archive URI> <sources file>" of the suite $1 as apt understands its own configuration,
# our own file aside; nothing if the suite is not configured.
archive_of_suite() {
    # shellcheck disable=SC2016  # apt expands these
    apt-get indextargets --format '$(REPO_URI) $(SOURCESENTRY)' \
        'Created-By: Packages' "Release: $1" 'Component: main' 2>/dev/null |
        sed -e 's/:[0-9]*$//' -e "\\, $rota_sources_file\$,d" | head -n 1
}

# Prints the keyring that the sources file $2 gives as Signed-By for the archive $1, or nothing.
signed_by_of_archive() {
    local uri=${1%/}
    case $2 in
    *.sources)
        awk -v RS= -v uri="$uri" 'index($0, uri) {
            count = split($0, line, "\n")
            for (i = 1; i <= count; ++i)
                if (tolower(line[i]) ~ /^signed-by:[ \t]*\//) {
                    sub(/^[^:]*:[ \t]*/, "", line[i])
                    print line[i]
                    exit
                }
        }' "$2"
        ;;
    *) grep -F -- "$uri" "$2" | sed -n 's/^deb .*signed-by=\([^] ]*\).*/\1/p' | head -n 1 ;;
    esac
}

# Replaces file $1 by standard input where it differs.
write_if_changed() {
    local text
    text=$(cat)
    if [ "$(cat "$1" 2>/dev/null)" != "$text" ]; then
        printf '%s\n' "$text" | as_root tee "$1" >/dev/null
    fi
}

# Makes the two suites known to apt, trixie at priority -1 but for two leaf C libraries (they need
# only an old libc), so that an ordinary upgrade changes no suite. A suite that the machine has
# already stays as it is. liburing is Debian 12's own: trixie's needs newer kernel headers.
add_debian12_suites() {
    local suite archive='' uri file signed_by missing='' trixie_pin=''
    for suite in bookworm oldstable stable; do
        archive=$(archive_of_suite "$suite")
        [ -z "$archive" ] || break
    done
    [ -n "$archive" ] || fail "no Debian 12 archive in apt's sources to take the mirror from"
    uri=${archive%% *}
    file=${archive#* }
    for suite in bookworm-backports trixie; do
        [ -n "$(archive_of_suite "$suite")" ] || missing+=" $suite"
    done
    case $missing in
    *trixie*) trixie_pin=$'Package: *\nPin: release n=trixie\nPin-Priority: -1\n\n' ;;
    esac

    note "Debian 12: adding${missing:- nothing} to apt's sources ($rota_sources_file);" \
        "trixie is pinned at -1 but for libllhttp and libyyjson ($rota_preferences_file)"
    if [ -n "$missing" ]; then
        signed_by=$(signed_by_of_archive "$uri" "$file")
        write_if_changed "$rota_sources_file" <<SOURCES
# Written by Rota's ./dev, together with $rota_preferences_file. Remove both to undo.
Types: deb
URIs: $uri
Suites:$missing
Components: main${signed_by:+
Signed-By: $signed_by}
SOURCES
    fi
    write_if_changed "$rota_preferences_file" <<PREFERENCES
# Written by Rota's ./dev, together with $rota_sources_file. Remove both to undo.
${trixie_pin}Package: libllhttp-dev libllhttp9.2 libyyjson-dev libyyjson0
Pin: release n=trixie
Pin-Priority: 500

Package: catch2 libcatch2-dev meson
Pin: release n=bookworm-backports
Pin-Priority: 500
PREFERENCES
}
