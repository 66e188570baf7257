#!/bin/sh
# Installs the servers that the tests run against, when they are missing: redis-server. Debian and Ubuntu only; elsewhere it says what to
# install. The tests start private copies on free ports; a service of the system is neither needed nor touched.
set -eu

if command -v redis-server >/dev/null 2>&1; then
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
  echo "The tests need redis-server (6.2 or newer) in PATH. Install it and run again:" >&2
  case "$(uname -s)" in
    Darwin) echo "  brew install redis" >&2 ;;
    *) echo "  dnf install redis, apk add redis, pacman -S redis, or https://redis.io/docs/latest/operate/oss_and_stack/install/" >&2 ;;
  esac
  exit 1
fi

if [ "$(id -u)" = 0 ]; then
  as_root=''
elif command -v sudo >/dev/null 2>&1; then
  as_root='sudo'
else
  echo "The tests need redis-server. Run as root, then again: apt-get update && apt-get install redis-server" >&2
  exit 1
fi

echo "Installing redis-server for the tests ..."
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -o DPkg::Lock::Timeout=300 update -qq
$as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends redis-server
