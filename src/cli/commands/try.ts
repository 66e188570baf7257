import { type Command, InvalidArgumentError, Option } from 'commander'
import { CONFIG, processSettings } from '../../config.js'
import { asShoalError, describeError, EXIT, exitNameOf, ShoalError } from '../../errors.js'
import type { TriedPage, TryOrder } from '../../run/try/tried-page.js'
import type { Json } from '../../url/link.js'
import { guide } from '../help.js'
import { acts, type CacheFlags, cacheOptions, plain, proxyOptions, type Session } from '../session.js'
import { type ArgFlags, argOption, fileSource } from '../spider-choice.js'
import { showTriedPage } from '../views/try-view.js'
import { watchPage } from '../watch-page.js'

/** Links and records while it watches: more would push the fields off the screen. */
const SHOWN_WATCHING = 3

interface TryFlags extends CacheFlags, ArgFlags {
  readonly route?: string
  readonly data?: Json
  readonly html?: string
  readonly rendered: boolean
  readonly fresh: boolean
  readonly save?: string
  readonly force: boolean
  readonly watch: boolean
}

export function tryCommand(program: Command): void {
  const command = program
    .command('try')
    .description(
      'fetch one page and show what each rule finds on it, its records and its links, without storing anything',
    )
    .usage('[options] <spider> <url>')
    .argument('<spider>', 'spider file')
    .argument('[url]', 'page to fetch; not needed for a page that --save has saved')
    .option('--route <name>', 'use this route, whatever the URL')
    .option('--data <json>', 'data of the link, as page.data', json)
    .addOption(
      new Option('--html <file>', 'read the page from this file and request nothing').conflicts([
        'rendered',
        'fresh',
        'cacheClear',
      ]),
    )
    .option('--rendered', 'render the page in a browser, whatever the route says', false)
    .option('--save <file>', 'save the page and what became of it, for tests and `shoal check`')
    .option('--force', 'with --save: replace a page that was saved before', false)
    .option('--watch', 'again whenever the spider file or one of its imports changes, from the cached page', false)
    .option('--fresh', 'fetch the page again even if the cache has it', false)
    .action(
      acts(async (session, file: string, url: string | undefined, flags: TryFlags) => {
        const { startTryThread } = await import('../../run/try/start-try-thread.js')
        const order = await orderOf(session, url, flags)
        // Its messages name the file as it was given.
        const source = { ...fileSource(file, flags), path: file }
        const start = (one: TryOrder) => startTryThread(source, one, session.clock)
        if (flags.watch)
          return watchPage(session, { order, file, start, show: (page) => showPage(session, page, SHOWN_WATCHING) })
        const page = await start(order).tried.catch((thrown: unknown) => {
          throw failedTry(thrown)
        })
        showPage(session, page)
        if (page.failure === null) return EXIT.ok.code
        throw failedTry(new ShoalError(page.failure.code, page.failure.message, { hint: page.failure.hint }))
      }),
    )
  command.option(CONFIG.browser.flag, plain(CONFIG.browser.meaning))
  cacheOptions(proxyOptions(argOption(command)))
  guide(command, {
    examples: [
      ['try books.ts https://books.example/catalogue/tome_1/index.html', 'what each field and rule finds on that page'],
      ['try books.ts https://books.example/catalogue/tome_1/index.html --watch', 'again with every change of the file'],
      ['try books.ts https://books.example/ --html page.html', 'on a page that is at hand, without the network'],
      ['try books.ts https://books.example/ --save fixtures/home.html', 'and save it for tests'],
    ],
    exitCodes: ['nothingFetched', 'interrupted'],
  })
}

function showPage(session: Session, page: TriedPage, most?: number): void {
  if (session.json) session.output.json(page)
  else showTriedPage(session.output, page, most)
}

/** The page could not be fetched (6), or the spider's code failed on it (3); errors that the user can fix keep their exit code. */
function failedTry(thrown: unknown): ShoalError {
  const error = asShoalError(thrown)
  if (error.next === 'stop' || error.next === 'backend') return error
  const isSpider = exitNameOf(error.code) === 'spider' || describeError(error.code).failedAt === 'handler'
  process.exitCode = (isSpider ? EXIT.spider : EXIT.nothingFetched).code
  return error
}

async function orderOf(session: Session, url: string | undefined, flags: TryFlags): Promise<TryOrder> {
  const { route = null, data, html, rendered, fresh, save, force, watch } = flags
  const given = html === undefined ? null : await givenPage(html, url)
  const from = url ?? given?.url
  if (from === undefined) throw new ShoalError('usage', "missing required argument 'url'")
  const cache = given === null ? await session.openCache(flags, watch) : null
  return {
    url: from,
    route,
    ...((data ?? given?.data) !== undefined && { data: (data ?? given?.data) as Json }),
    given: given?.body ?? null,
    rendered,
    fresh,
    save: save === undefined ? null : { file: save, force },
    settings: { ...processSettings(session.settings), cache },
  }
}

/** A page that was saved with `--save` brings its URL, headers and data along. */
async function givenPage(file: string, url: string | undefined) {
  const { readFixture } = await import('../../fixture/fixture-files.js')
  const { page } = await readFixture(file, url)
  const { body, headers, status, data } = page
  return { url: page.requestedUrl, data, body: { file, body, headers, status } }
}

function json(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new InvalidArgumentError(
      `Expected JSON, such as '{"page":2}': ${error instanceof Error ? error.message : ''}`,
    )
  }
}
