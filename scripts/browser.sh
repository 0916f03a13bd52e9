#!/bin/sh
# Prints where a Chromium is. As root, on a machine with apt, installs one where there is none.
set -eu
find_browser() {
    for name in "${AGNN_CHROMIUM:-}" chromium chromium-browser google-chrome; do
        [ -n "$name" ] && command -v "$name" && return 0
    done
    return 1
}
find_browser && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >&2 || true
    find_browser && exit 0
    echo "no Chromium is found, and apt-get could not install it (see above)." >&2
    exit 1
fi
echo "no Chromium is found; install one, as root with 'apt-get install chromium', or name it in AGNN_CHROMIUM." >&2
exit 1
