import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { findLink } from '../../observe/explain/find-link.js'
import { type FetchRow, SCREENSHOT_HEADER } from '../../store/rows.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { spiderOfCrawl } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { CRAWLS_ASKED } from './explain.js'
import { checkCommand, compactCommand } from './pages-maintenance.js'

/** No page is fetched more often than this, retries included, before someone looks at it. */
const FETCHES_READ = 1_000

export function pagesCommand(program: Command): void {
  const pages = program.command('pages').description('raw pages kept by spiders with savePages')
  guide(pages, {
    examples: [
      ['pages get https://books.example/ > page.html', 'the page as fetched'],
      ['pages screenshot https://books.example/ > page.jpg', 'what a rendered page looked like when it failed'],
      ['pages check', 'check that all kept pages are readable'],
      ['pages compact', 'merge small packs into large ones'],
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
    .description('print the body of a page as last fetched; --json prints where it is stored')
    .argument('<url>')
    .option('--crawl <crawl>', 'as fetched by this crawl (id, a prefix of it, or a spider name)')
    .action(
      acts(async (session, url: string, flags: { crawl?: string }) => {
        await session.withBackends(async (backends) => {
          const { fetch, body } = await newestPage(session, backends, url, flags.crawl)
          if (!session.json) return session.output.bytes(body)
          const { crawl, at, status, page } = fetch
          const path = page === null ? null : await backends.pages.locate(page)
          session.output.json({ url: fetch.url, crawl, fetchedAt: at, status, bytes: body.length, page, path })
        })
      }),
    )
  guide(get, {
    examples: [
      ['pages get https://books.example/catalogue/tome_1/index.html > tome.html', 'the page as last fetched'],
      ['pages get https://books.example/ --json', 'where it is stored, and when it was fetched'],
    ],
    exitCodes: ['notFound'],
  })
}

function screenshotCommand(pages: Command): void {
  const screenshot = pages
    .command('screenshot')
    .description('print the screenshot (JPEG) of a rendered page that failed; --json prints where it is stored')
    .argument('<url>')
    .option('--crawl <crawl>', 'as seen by this crawl (id, a prefix of it, or a spider name)')
    .action(
      acts(async (session, url: string, flags: { crawl?: string }) => {
        await session.withBackends(async (backends) => {
          const { fetch, ref, picture } = await newestScreenshot(session, backends, url, flags.crawl)
          if (!session.json) return session.output.bytes(picture)
          const { crawl, at, error } = fetch
          const path = await backends.pages.locate(ref)
          session.output.json({ url: fetch.url, crawl, fetchedAt: at, error, bytes: picture.length, page: ref, path })
        })
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
    hint: 'Screenshots are kept when a page of a route with `render` fails.',
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
    throw new ShoalError('not_found', `the raw page of ${url} is missing or damaged`, {
      hint: 'Check --pages and run `shoal pages check`; `shoal run <spider> --fresh` fetches the page again.',
    })
  throw new ShoalError('not_found', `no raw page of ${url} was kept`, {
    hint: 'Spiders keep raw pages with `savePages: true`; fetch the page again after adding it.',
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
  const found = await findLink(frontier, asked, url, (one) => spiderOfCrawl(session.settings, one))
  if (found.kind !== 'known')
    throw new ShoalError('not_found', `no crawl has fetched ${url}`, {
      hint: 'See what happened to it: `shoal explain <url>`.',
    })
  // The newest crawl may not have fetched it yet, but an older one may have.
  const crawl = word === undefined ? {} : { crawl: found.crawl.id }
  return store.fetches.of({ fp: found.target.fp, ...crawl, limit: FETCHES_READ })
}
