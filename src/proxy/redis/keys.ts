/**
 * Every key of the ledger in Redis, all under one hash tag so that a script finds them on one node. A key that nobody used for a week is gone,
 * and so is a record in it. Formats: lua/ledger.lua.
 *
 *   w:<pool>            hash  exit → health of the exit as a whole
 *   s:<pool>\n<site>    hash  exit → health on the site
 *   p:<pool>\n<host>    hash  exit → pace on the host
 *   n:<pool>            zset  exit\nsite of every health, in order: for listing them
 *   holds               hash  ask → grant that is not reported yet
 *   ends                zset  asks by the time they run out
 */
export function ledgerTag(namespace: string): string {
  return `{${namespace}.exits}`
}
