import type { Notes } from '../notes/notes.js'
import { isServable, spiderForCrawl } from '../spider/arguments.js'
import { DIRECT, type ProxyNeed, type Spider } from '../spider/spider.js'
import { openAs, specFor } from './crawls.js'
import type { WatchedBackends } from './queue-watch.js'

/** After a longer break, the fleet reports its proxies again. */
const KEPT_MS = 7 * 86_400_000
/** The note is renewed before it expires. */
const RENEWED_MS = 86_400_000
const CLAIM_MS = 10_000

/**
 * How many proxies a spider can choose from, as reported by the workers of the fleet: the process that opens a crawl need not have the proxies itself. One if
 * no worker has reported yet.
 */
export async function knownProxies(notes: Pick<Notes, 'read'>, { proxies }: Spider): Promise<number> {
  const counts = await Promise.all((proxies?.needs ?? []).map((need) => toldCount(notes, need)))
  return Math.max(
    1,
    counts.reduce((sum, count) => sum + count, 0),
  )
}

/** How many proxies of a pool the fleet has reported; 0 if none. */
export async function reportedProxies(notes: Pick<Notes, 'read'>, pool: string): Promise<number> {
  return countIn((await notes.read(keyOf({ pool, country: null })))?.text)
}

async function toldCount(notes: Pick<Notes, 'read'>, need: ProxyNeed): Promise<number> {
  return need === DIRECT ? 1 : countIn((await notes.read(keyOf(need)))?.text)
}

/**
 * Reports to the fleet how many proxies this process has. If that is more than was known, running crawls are opened again with room for all of them.
 */
export async function shareProxies(
  backends: WatchedBackends & { readonly notes: Notes },
  holder: string,
  spiders: readonly Spider[],
  countOf: (need: ProxyNeed) => number,
): Promise<void> {
  const proxied = spiders.filter(({ proxies }) => proxies !== null)
  if (proxied.length === 0 || !(await reportProxies(backends.notes, holder, proxied, countOf))) return
  const { frontier, store } = backends
  const gen = await store.generations.of(await frontier.identity())
  for (const { id, spider: name, args, state, createdAt } of await frontier.crawls()) {
    const loaded = proxied.find((one) => one.name === name)
    if (loaded === undefined || (state !== 'running' && state !== 'paused') || !isServable(loaded, args)) continue
    const spider = spiderForCrawl(loaded, args)
    await openAs(backends, specFor(spider, id, gen, await knownProxies(backends.notes, spider)), createdAt)
  }
}

/** Answers whether the number is new. */
async function reportProxies(
  notes: Notes,
  holder: string,
  spiders: readonly Spider[],
  countOf: (need: ProxyNeed) => number,
): Promise<boolean> {
  let news = false
  for (const need of spiders.flatMap(({ proxies }) => proxies?.needs ?? [])) {
    const count = need === DIRECT ? 0 : countOf(need)
    if (count === 0) continue
    const note = await notes.read(keyOf(need))
    const known = countIn(note?.text)
    if (count <= known && (note?.ageMs ?? 0) < RENEWED_MS) continue
    const claim = await notes.claim(keyOf(need), holder, 0, CLAIM_MS)
    if (claim.kind !== 'yours') continue
    await notes.post(keyOf(need), holder, String(Math.max(count, known)), KEPT_MS)
    news ||= count > known
  }
  return news
}

function keyOf({ pool, country }: ProxyNeed): string {
  return `proxies:${pool}:${country ?? ''}`
}

function countIn(text: string | undefined): number {
  const count = Number(text ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
