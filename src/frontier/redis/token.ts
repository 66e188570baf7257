import type { Fingerprint } from '../../url/link.js'

/** What a token says: where the lease is kept, and of which link it is. */
export interface Token {
  readonly shard: number
  readonly crawl: string
  readonly epoch: string
  readonly fp: Fingerprint
}

const TOKEN = /^(\d{1,4})-(\d{1,10})-(\d{1,16})-([0-9a-f]{16})$/
/** A lease that nobody ever had. */
const NOBODYS: Token = { shard: 0, crawl: '0', epoch: '0', fp: '0'.repeat(16) }

export function tokenOf({ shard, crawl, epoch, fp }: Token): string {
  return `${shard}-${crawl}-${epoch}-${fp}`
}

export function parseToken(token: string, shards: number): Token {
  const [, shard = '', crawl = '', epoch = '', fp = ''] = TOKEN.exec(token) ?? []
  if (shard === '' || Number(shard) >= shards) return NOBODYS
  return { shard: Number(shard), crawl, epoch, fp }
}
