import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { findLink } from '../../observe/explain/find-link.js'
import { type FetchRow, SCREENSHOT_HEADER } from '../../store/rows.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { rememberedSpider } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { CRAWLS_ASKED } from './explain.js'
import { checkCommand, compactCommand } from './pages-maintenance.js'

/** More often no page is fetched, retries and all, before somebody looks. */
const FETCHES_LOOKED_AT = 1_000

export function pagesCommand(program: Command): void {
  const pages = program.command('pages').description('raw pages, of spiders with savePages')
  guide(pages, {
    examples: [
      ['pages get https://books.example/ > page.html', 'the page as it was fetched'],
      ['pages screenshot https://books.example/ > page.jpg', 'what a rendered page looked like when it failed'],
      ['pages check', 'whether every page that was kept can be read'],
      ['pages compact', 'few large packs instead of many small ones'],
    ],
  })
  getCommand(pages)
  screenshotCommand(pages)
  checkCommand(pages)
  compactCommand(pages)
}

function getCommand(pages: Command): void {
  const get = pages
    .command('get')
    .description('print the body of a page as it was fetched last; with --json say where it is')
    .argument('<url>')
    .option('--crawl <crawl>', 'as this crawl fetched it: id, beginning of it, or name of a spider')
    .action(
      acts(async (session, url: string, flags: { crawl?: string }) => {
        await session.withBackends(async (backends) => {
          const { fetch, body } = await newestPage(session, backends, url, flags.crawl)
          if (!session.json) return session.output.bytes(body)
          const { crawl, at, status, page } = fetch
          const path = page === null ? null : await backends.pages.locate(page)
          session.output.json({ url: fetch.url, crawl, fetchedAt: at, status, bytes: body.length, page, path })
        })
        return undefined
      }),
    )
  guide(get, {
    examples: [
      ['pages get https://books.example/catalogue/tome_1/index.html > tome.html', 'the page as it was fetched last'],
      ['pages get https://books.example/ --json', 'where it is, and when it was fetched'],
    ],
    exitCodes: ['notFound'],
  })
}

function screenshotCommand(pages: Command): void {
  const screenshot = pages
    .command('screenshot')
    .description('print the picture (JPEG) of a rendered page that failed; with --json say where it is')
    .argument('<url>')
    .option('--crawl <crawl>', 'as this crawl saw it: id, beginning of it, or name of a spider')
    .action(
      acts(async (session, url: string, flags: { crawl?: string }) => {
        await session.withBackends(async (backends) => {
          const { fetch, ref, picture } = await newestScreenshot(session, backends, url, flags.crawl)
          if (!session.json) return session.output.bytes(picture)
          const { crawl, at, error } = fetch
          const path = await backends.pages.locate(ref)
          session.output.json({ url: fetch.url, crawl, fetchedAt: at, error, bytes: picture.length, page: ref, path })
        })
        return undefined
      }),
    )
  guide(screenshot, {
    examples: [
      ['pages screenshot https://books.example/catalogue/tome_1 > tome.jpg', 'what the browser showed when it failed'],
    ],
    exitCodes: ['notFound'],
  })
}

async function newestScreenshot(session: Session, backends: Backends, url: string, word: string | undefined) {
  for (const fetch of await fetchesOf(session, backends, url, word)) {
    const ref = fetch.headers?.[SCREENSHOT_HEADER]
    const picture = ref === undefined ? null : await backends.pages.get(ref)
    if (ref !== undefined && picture !== null) return { fetch, ref, picture }
  }
  throw new ShoalError('not_found', `no screenshot of ${url} was kept`, {
    hint: 'One is kept when a page of a route with `render` fails.',
  })
}

async function newestPage(
  session: Session,
  backends: Backends,
  url: string,
  word: string | undefined,
): Promise<{ fetch: FetchRow; body: Uint8Array }> {
  const { pages } = backends
  const fetches = await fetchesOf(session, backends, url, word)
  const kept = fetches.filter(({ page }) => page !== null)
  for (const fetch of kept) {
    const body = fetch.page === null ? null : await pages.get(fetch.page)
    if (body !== null) return { fetch, body }
  }
  if (kept.length > 0)
    throw new ShoalError('not_found', `the raw page of ${url} is gone, or damaged`, {
      hint: 'Is it in another place (--pages)? `shoal pages check` looks at all; `shoal run <spider> --fresh` fetches it again.',
    })
  throw new ShoalError('not_found', `no raw page of ${url} was kept`, {
    hint: 'Pages are kept as they are fetched, by a spider with `savePages: true`.',
  })
}

/** Newest first. */
async function fetchesOf(
  session: Session,
  { frontier, store }: Backends,
  url: string,
  word: string | undefined,
): Promise<FetchRow[]> {
  const all = await crawlsNewestFirst(frontier)
  const asked = word === undefined ? all.slice(0, CRAWLS_ASKED) : [chooseCrawl(all, word)]
  const found = await findLink(frontier, asked, url, (one) => rememberedSpider(session.settings, one.spider))
  if (found.kind !== 'known')
    throw new ShoalError('not_found', `no crawl has fetched ${url}`, {
      hint: 'Ask what became of it: `shoal explain <url>`.',
    })
  // The newest crawl may not have come to it yet: an older one has it as well.
  const crawl = word === undefined ? {} : { crawl: found.crawl.id }
  return store.fetches({ fp: found.target.fp, ...crawl, limit: FETCHES_LOOKED_AT })
}
