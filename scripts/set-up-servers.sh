#!/bin/sh
# Installs what the tests run against, when it is missing: redis-server, PostgreSQL, PgBouncer, MariaDB, Chromium and tests of html5lib. Debian and Ubuntu only;
# elsewhere it says what to install. The tests start private copies on free ports; a service of the system is neither needed nor touched.
set -eu

has() {
  command -v "$1" >/dev/null 2>&1
}

missing=''
has redis-server || missing="$missing redis-server"
{ has postgres && has initdb; } || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
{ has pgbouncer || [ -x /usr/sbin/pgbouncer ]; } || missing="$missing pgbouncer"
has mariadbd || [ -x /usr/sbin/mariadbd ] || missing="$missing mariadb-server"
has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
# The tree construction tests of html5lib.
[ -n "${SHOAL_HTML5LIB_TESTS:-}" ] || [ -d /usr/share/gocode/src/golang.org/x/net/html/testdata/webkit ] || missing="$missing golang-golang-x-net-dev"
# Not a server: it carries the URL tests of web-platform-tests, which no package of npm does.
[ -n "${SHOAL_URL_TESTS:-}" ] || ls /usr/share/cargo/registry/url-*/tests/urltestdata.json >/dev/null 2>&1 || missing="$missing librust-url-dev"
missing="${missing# }"

if [ -z "$missing" ]; then
  exit 0
fi

if ! has apt-get; then
  echo "The tests need redis-server (6.2 or newer), PostgreSQL (14 or newer: postgres, initdb), pgbouncer, mariadbd and chromium in PATH." >&2
  echo "They also need the folder tree-construction of html5lib-tests, named by SHOAL_HTML5LIB_TESTS," >&2
  echo "and the file urltestdata.json of web-platform-tests, named by SHOAL_URL_TESTS." >&2
  echo "Install what is missing ($missing) and run again:" >&2
  case "$(uname -s)" in
    Darwin) echo "  brew install redis postgresql pgbouncer mariadb && brew install --cask chromium" >&2 ;;
    *) echo "  dnf install redis postgresql-server pgbouncer mariadb-server chromium, or apk add redis postgresql pgbouncer mariadb chromium" >&2 ;;
  esac
  exit 1
fi

if [ "$(id -u)" = 0 ]; then
  as_root=''
elif has sudo; then
  as_root='sudo'
else
  echo "The tests need $missing. Run as root, then again: apt-get update && apt-get install $missing" >&2
  exit 1
fi

echo "Installing $missing for the tests ..."
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -o DPkg::Lock::Timeout=300 update -qq
# shellcheck disable=SC2086
$as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing
