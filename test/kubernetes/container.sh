#!/bin/sh
# What a container runtime does for `shoal`, with the programs of this machine instead of an image: a read-only root, the volumes of the pod, its own host name
# and no rights. kubelet.ts starts it in new mount and UTS namespaces and in the network namespace of the pod; the command becomes PID 1 of its own PID namespace.
#   container.sh <root> <host name> <user> <file with mounts> <working directory> <command> [argument …]
set -eu
root=$1 name=$2 user=$3 mounts=$4 folder=$5
shift 5

hostname "$name"
mount --make-rprivate /
mount -t tmpfs -o mode=755 shk "$root"
for place in bin dev etc lib lib64 sbin usr; do
  [ -e "/$place" ] || continue
  mkdir "$root/$place"
  mount --rbind "/$place" "$root/$place"
  [ "$place" = dev ] || mount -o remount,bind,ro "$root/$place"
done
mkdir "$root/proc" "$root/node_modules"
# As in the image: a spider finds the package by its name.
ln -s /app "$root/node_modules/shoal"

while read -r how from to; do
  if [ -d "$from" ]; then mkdir -p "$root$to"; else [ -e "$root$to" ] || touch "$root$to"; fi
  mount --bind "$from" "$root$to"
  [ "$how" = rw ] || mount -o remount,bind,ro "$root$to"
done < "$mounts"
mount -o remount,ro "$root"

# Two shells: the first child of the outer one is PID 1 of the new namespace, and the outer one hands on its exit code. `unshare --fork` of util-linux 2.38 loses it
# ("sigprocmask unblock failed"). If one of them is killed, the next one dies too.
# shellcheck disable=SC2016
exec unshare --pid /bin/sh -c '"$@" & wait $!' sh /bin/sh -c '
  root=$1 user=$2 folder=$3
  shift 3
  mount -t proc proc "$root/proc"
  exec chroot "$root" /usr/bin/setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --pdeathsig KILL \
    /bin/sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$folder" "$@"
' sh "$root" "$user" "$folder" "$@"
