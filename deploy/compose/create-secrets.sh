#!/bin/sh
# Creates the secrets of compose.yaml, each in a file of its own, in the folder `secrets` or the one you name. Files that exist are kept.
#   sh deploy/compose/create-secrets.sh [folder]
set -eu

folder=${1:-secrets}
mkdir -p "$folder"
# Only you can open the folder. The files in it are readable by everybody, because the containers that get them run as other users.
chmod 700 "$folder"
umask 022

random() {
  od -An -tx1 -N24 /dev/urandom | tr -d ' \n'
}

# Written to another name first: a file that exists is complete.
create() {
  [ -s "$folder/$1" ] && echo "kept    $folder/$1" && return
  printf '%s\n' "$2" > "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
  echo "created $folder/$1"
}

create redis_password "$(random)"
create postgres_password "$(random)"
create token "$(random)"
# Redis reads its password from a config file. Derived, so that a password you chose yourself is used.
create redis.conf "requirepass $(cat "$folder/redis_password")"
