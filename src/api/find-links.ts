import type { Frontier, LinkInfo, LinkQuery } from '../frontier/frontier.js'

/** Links that one call reads at most: a few tens of milliseconds. */
const LOOKED_THROUGH = 2_000
const AT_ONCE = 500

export interface FoundLinks {
  readonly links: readonly LinkInfo[]
  /** Where to continue; null: there are no more. */
  readonly next: string | null
}

/**
 * One page of links, in a time that does not grow with the queue. What an engine has no index for (done links, hosts and errors of ended links) is searched
 * among a limited number of links at a time: such a page may be short, or empty, and not the last.
 */
export async function findLinks(frontier: Frontier, { host, ...query }: LinkQuery): Promise<FoundLinks> {
  const { crawl, limit, code } = query
  const state = query.state ?? (code === undefined ? undefined : 'dead')
  if (code !== undefined && state !== 'dead') return { links: [], next: null }
  if (state === 'done' && frontier.can.ended === 'counted') return { links: [], next: null }
  // Only an engine that keeps all links has an index by error.
  const byCode = code !== undefined && frontier.can.ended === 'kept'
  const direct =
    state === 'queued' ||
    state === 'leased' ||
    (host === undefined && state !== 'done' && (code === undefined || byCode))
  if (direct) {
    const links = await frontier.links({ ...query, ...(host === undefined ? {} : { host }) })
    return { links, next: links.length < limit ? null : (links.at(-1)?.cursor ?? null) }
  }
  const links: LinkInfo[] = []
  let after = query.after
  for (let looked = 0; looked < LOOKED_THROUGH; looked += AT_ONCE) {
    const some = await frontier.links({
      ...{ crawl, limit: AT_ONCE },
      ...(state === undefined || state === 'done' ? {} : { state }),
      ...(byCode ? { code } : {}),
      ...(after === undefined ? {} : { after }),
    })
    for (const link of some) {
      after = link.cursor
      const fits =
        (host === undefined || link.host === host) &&
        (state === undefined || link.state === state) &&
        (code === undefined || link.failures.at(-1)?.code === code)
      if (fits) links.push(link)
      if (links.length === limit) return { links, next: after }
    }
    if (some.length < AT_ONCE) return { links, next: null }
  }
  return { links, next: after ?? null }
}
