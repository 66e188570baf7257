#!/bin/sh
# Builds kube-apiserver and kube-controller-manager, once, from Debian's source package of Kubernetes, and keeps them in a cache. About 8 minutes on
# two cores, without any network but Debian's archive. Prints the folder with the binaries as its last line.
#   sh test/kubernetes/build-control-plane.sh
# Exit code 0: the binaries are there. 4: they cannot be built on this machine; the message says what to do.
set -eu

VERSION=1.20.2
# Kubernetes 1.20 does not build with every newer Go; this is Debian 12's.
GO_VERSION=1.19
folder="${XDG_CACHE_HOME:-$HOME/.cache}/shoal/kubernetes-$VERSION"
binaries='kube-apiserver kube-controller-manager'

say() {
  echo "$*" >&2
}

refuse() {
  say "$1"
  exit 4
}

has_all() {
  for name in $binaries; do [ -x "$folder/$name" ] || return 1; done
}

if has_all && command -v etcd >/dev/null; then
  echo "$folder"
  exit 0
fi

command -v apt-get >/dev/null || refuse "This needs Debian 12: elsewhere, put kube-apiserver and kube-controller-manager $VERSION into $folder, and etcd into PATH."
[ "$(id -u)" = 0 ] || refuse 'Run this as root once: it installs etcd, Go and the sources of Kubernetes with apt-get.'

export DEBIAN_FRONTEND=noninteractive
apt='apt-get -o DPkg::Lock::Timeout=300 -qq'

if ! command -v etcd >/dev/null; then
  say 'Installing etcd (10 s) ...'
  $apt update
  $apt install -y --no-install-recommends etcd-server >/dev/null
fi
if has_all; then
  echo "$folder"
  exit 0
fi

say "Building Kubernetes $VERSION from Debian's sources: about 8 minutes on two cores, once. The log is $folder/build.log"
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# Lists of sources are often not configured. These are read for this one command only, so the machine's own configuration stays as it is.
mkdir -p "$work/lists/partial" "$work/sources"
echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' > "$work/sources/bookworm.list"
sources="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/sources -o Dir::State::lists=$work/lists"
{
  $apt update
  $apt install -y --no-install-recommends "golang-$GO_VERSION-go" dpkg-dev rsync make
  # apt drops its privileges to fetch; the folder belongs to root.
  cd "$work"
  # shellcheck disable=SC2086
  $apt $sources -o APT::Sandbox::User=root update
  # shellcheck disable=SC2086
  $apt $sources -o APT::Sandbox::User=root source "kubernetes"
  cd "$work"/kubernetes-*/
  # Without GO111MODULE=off Go looks for modules on the network; the sources bring all of them in vendor/.
  PATH="/usr/lib/go-$GO_VERSION/bin:$PATH" GO111MODULE=off GOFLAGS='' KUBE_GIT_VERSION="v$VERSION" KUBE_GIT_TREE_STATE=clean GOCACHE="$work/go-cache" \
    make WHAT='cmd/kube-apiserver cmd/kube-controller-manager'
} > "$folder/build.log" 2>&1 || refuse "The build failed: $(tail -n 3 "$folder/build.log"). All of it: $folder/build.log"

for name in $binaries; do
  # Under another name first: a binary that exists is complete.
  cp "_output/bin/$name" "$folder/$name.new" 2>/dev/null || cp "$work"/kubernetes-*/_output/bin/"$name" "$folder/$name.new"
  mv "$folder/$name.new" "$folder/$name"
done
say "Done: $(du -sh "$folder" | cut -f1) in $folder"
echo "$folder"
