#!/bin/sh
# What the official image does at its start, as far as compose.yaml uses it.
set -eu
bin=$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  "$bin/initdb" -D "$data" -U "$POSTGRES_USER" -E UTF8 --locale=C.UTF-8 --pwfile="$POSTGRES_PASSWORD_FILE" -A scram-sha-256 --no-instructions > /dev/null
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | "$bin/postgres" --single -D "$data" postgres > /dev/null
fi
# Not /run/postgresql: podman gives a tmpfs the owner of the image's folder, root, whatever mode compose.yaml asks for.
exec "$bin/postgres" -D "$data" -c 'listen_addresses=*' -c unix_socket_directories=/tmp
