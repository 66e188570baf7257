const AUTHORITY = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^/?#@]*)@)?/i

/**
 * The address with this password in it. Null: it has one already. The password of a Compose or Kubernetes secret is the same file that the database
 * itself reads, so it is not encoded for a URL: `p@ss/word#1` in an address would silently name another host.
 */
export function withPassword(address: string, password: string): string | null {
  const [all = '', scheme = '', user = ''] = AUTHORITY.exec(address) ?? []
  if (user.includes(':') && !user.endsWith(':')) return null
  return `${scheme}${user.replace(/:$/, '')}:${encodeURIComponent(password)}@${address.slice(all.length)}`
}
