/**
 * Every key of the ledger in Redis, all under one hash tag so that a script finds them on one node. A key that nobody used for a week is gone,
 * and so is a record in it. Formats: lua/ledger.lua.
 *
 *   w:<pool>            hash  proxy → health of the proxy as a whole
 *   s:<pool>\n<site>    hash  proxy → health on the site
 *   p:<pool>\n<host>    hash  proxy → pace on the host
 *   n:<pool>            zset  proxy\nsite of every health, in order: for listing them
 *   holds               hash  ask → grant that is not reported yet
 *   ends                zset  asks by the time they run out
 */
export function ledgerTag(namespace: string): string {
  return `{${namespace}.proxies}`
}
