import type { WarcResult } from '../../store/export/warc.js'
import type { KeptPage, KeptPageQuery, KeptPages } from '../../store/kept-pages.js'
import { version } from '../../version.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { refuseUnknown } from '../known-names.js'
import type { Session } from '../session.js'
import { stderr, stdout } from '../terminal/streams.js'
import { shownProgress } from '../views/work-progress.js'
import { isFileTarget, nothingToExport } from './export-file.js'

const PART = 100

export interface PagesExport {
  /** Null: standard output. */
  readonly out: string | null
  readonly spider?: string
  /** Id, a prefix of it, or a spider name. */
  readonly crawl?: string
  readonly since?: number
}

/** Exports the raw pages of spiders with savePages as a WARC archive. */
export async function exportKeptPages(
  session: Session,
  backends: Backends,
  asked: PagesExport,
  signal: AbortSignal,
): Promise<WarcResult> {
  const { warcToFiles, warcToStream } = await import('../../store/export/warc.js')
  const queries = await queriesFor(backends, asked)
  if (asked.out !== null && isFileTarget(asked.out)) await refuseEmpty(backends.store.pages, queries, asked.out)
  const progress = shownProgress(session, 'pages', await expected(backends.store.pages, queries))
  const archive = {
    pages: pagesOf(backends.store.pages, queries),
    bodies: backends.pages,
    info: {
      software: `Shoal/${version}`,
      format: 'WARC File Format 1.1',
      conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
      description: 'Response bodies are decoded; no request records are kept.',
    },
    madeAt: session.clock.now(),
  }
  const options = { signal, progress: (pages: number) => progress.report(pages, 'writing') }
  try {
    return asked.out === null
      ? await warcToStream(archive, stdout, options)
      : await warcToFiles(archive, asked.out, options)
  } finally {
    progress.stop()
  }
}

/** The store finds kept pages by spider, so there is one query for each. */
async function queriesFor(
  { frontier, store }: Backends,
  { spider, crawl, since }: PagesExport,
): Promise<KeptPageQuery[]> {
  const more = { ...(since !== undefined && { since }), newestOnly: false }
  if (crawl !== undefined) {
    const chosen = chooseCrawl(await crawlsNewestFirst(frontier), crawl)
    return [{ spider: chosen.spider, crawl: chosen.id, ...more }]
  }
  if (spider !== undefined) {
    await refuseUnknown(store, { spider })
    return [{ spider, ...more }]
  }
  const known = [...(await frontier.crawls()), ...(await store.crawls.notes()), ...(await store.records.counts({}))]
  return [...new Set(known.map((one) => one.spider))].sort().map((name) => ({ spider: name, ...more }))
}

/** An archive without pages would replace one that has some. */
async function refuseEmpty(kept: KeptPages, queries: readonly KeptPageQuery[], out: string): Promise<void> {
  for (const query of queries) if ((await kept.part(query, null, 1)).pages.length > 0) return
  throw nothingToExport('no raw pages match', out, 'Spiders keep raw pages with `savePages: true`.')
}

async function* pagesOf(kept: KeptPages, queries: readonly KeptPageQuery[]): AsyncGenerator<KeptPage> {
  for (const query of queries) {
    let after: string | null = null
    do {
      const part = await kept.part(query, after, PART)
      yield* part.pages
      after = part.next
    } while (after !== null)
  }
}

async function expected(kept: KeptPages, queries: readonly KeptPageQuery[]): Promise<number | null> {
  if (!stderr.isTTY) return null
  let total = 0
  for (const query of queries) total += await kept.count(query)
  return total
}
