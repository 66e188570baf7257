import { once } from 'node:events'
import { join, relative } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { ListenAt } from '../../api/listen.js'
import { isOnServer, maskUrl } from '../../config.js'
import type { DemoShop } from '../../demo/launch.js'
import type { ShopOptions } from '../../demo/shop.js'
import { EXIT } from '../../errors.js'
import { listenAddress } from '../../options.js'
import { type AccessCheck, checkAccess } from '../checks/access-check.js'
import { type FinishedRun, runWithProgress } from '../crawl-run.js'
import { guide } from '../help.js'
import { acts, type CrawlFlags, crawlOptions, programName, type Session, shellWord, wholeNumber } from '../session.js'
import { withSignals } from '../signals.js'
import { count, noun } from '../terminal/format.js'
import { detailsOf, sameCommand, summaryJson } from '../views/run-report.js'
import { printNextSteps, printSummary } from '../views/summary-view.js'

interface DemoFlags extends CrawlFlags, Partial<Omit<ShopOptions, 'pages'>> {
  readonly dir: string
  readonly products?: number
  readonly serve?: ListenAt
}

export function demoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('crawl a small demo shop that Shoal serves on this machine: nothing to install, no outside traffic')
    .option('--products <n>', 'number of product pages', wholeNumber)
    .option('--bytes <n>', 'size of a page in bytes', wholeNumber)
    .option('--faults <share>', 'share of slow and failing pages: 1 is the default share, 0 none', share)
    .option('--seed <n>', 'seed for generating the shop', wholeNumber)
    .option('--dir <folder>', 'folder for the database and the access log of the shop', 'shoal-demo')
    .option(
      '--serve <[host:]port>',
      'only serve the shop, for workers of your own (deploy/compose/spiders/shop.ts); nothing is crawled',
      serveAddress,
    )
    .action(
      acts(async (session, flags: DemoFlags) => {
        if (flags.serve !== undefined) return serveOnly(session, flags, flags.serve)
        const at = session.at(`sqlite:${join(flags.dir, 'shoal.db')}`)
        const [{ launchShop }, { SHOP_DEFAULTS }] = await Promise.all([
          import('../../demo/launch.js'),
          import('../../demo/shop.js'),
        ])
        const options = shopOptions(SHOP_DEFAULTS, flags)
        const shop = await launchShop({ dir: flags.dir, options, fresh: flags.fresh })
        try {
          if (!session.json) {
            session.output.note(`demo shop with ${count(options.pages)} products running at ${shop.origin}`)
            for (const line of fleetLines(at)) session.output.note(line)
          }
          // The shop differs from the last one: resuming a crawl of the old shop makes no sense.
          const finished = await runWithProgress(
            at,
            { ...flags, fresh: flags.fresh || !shop.resumed },
            { kind: 'demo', origin: shop.origin },
          )
          await report(at, shop, finished, flags)
          return finished.exitCode
        } finally {
          await shop.close()
        }
      }),
    )
  crawlOptions(command)
  guide(command, {
    examples: [
      ['demo', 'see a whole crawl in under a minute'],
      [
        'demo --queue redis://127.0.0.1:6379 --store postgres://shoal:secret@127.0.0.1/shoal --workers 3',
        'the fleet demo: three worker processes share a queue in Redis and write to Postgres',
      ],
      ['demo --serve 0.0.0.0:8080', 'only the shop, for workers on other machines or in other containers'],
      ['demo --products 3000 --workers 2', 'a larger shop with two processes; kill them, run it again, and it resumes'],
    ],
    exitCodes: ['nothingFetched', 'interrupted', 'terminated'],
  })
}

function shopOptions(defaults: ShopOptions, { products, bytes, faults, seed }: DemoFlags): ShopOptions {
  return {
    pages: products ?? defaults.pages,
    bytes: bytes ?? defaults.bytes,
    faults: faults ?? defaults.faults,
    seed: seed ?? defaults.seed,
  }
}

/** Until Ctrl-C or SIGTERM. */
async function serveOnly(session: Session, flags: DemoFlags, at: ListenAt): Promise<number> {
  const [{ serveShop }, { SHOP_DEFAULTS }] = await Promise.all([
    import('../../demo/launch.js'),
    import('../../demo/shop.js'),
  ])
  const options = shopOptions(SHOP_DEFAULTS, flags)
  return withSignals(
    () => {},
    async ({ drain }) => {
      const shop = await serveShop({ dir: flags.dir, options, fresh: flags.fresh, ...at })
      if (session.json) session.output.json({ url: shop.origin, accessLog: shop.accessLog })
      else session.output.note(`demo shop with ${count(options.pages)} products running at ${shop.origin}`)
      if (!drain.aborted) await once(drain, 'abort')
      await shop.close()
      return EXIT.ok.code
    },
  )
}

function serveAddress(text: string): ListenAt {
  const { success, data, error } = listenAddress.safeParse(text)
  if (!success) throw new InvalidArgumentError(error.issues[0]?.message ?? 'Expected [host:]port.')
  return data
}

/** With a queue on a server the demo is a fleet: others can join, and watch. */
function fleetLines({ settings: { queue, store }, sameDatabase }: Session): string[] {
  if (!isOnServer(queue)) return []
  return [
    `queue ${maskUrl(queue)}, records ${maskUrl(store)}`,
    `watch it from another terminal: ${programName(process.env)} workers${sameDatabase}`,
  ]
}

function share(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 10))
    throw new InvalidArgumentError('Expected a number from 0 to 10.')
  return value
}

async function report(session: Session, shop: DemoShop, finished: FinishedRun, flags: DemoFlags): Promise<void> {
  const [{ readAccessLog }, { FORBIDDEN }, { demoDefinition }] = await Promise.all([
    import('../../demo/access-log.js'),
    import('../../demo/shop.js'),
    import('../../demo/spider.js'),
  ])
  const check = checkAccess(readAccessLog(shop.accessLog), FORBIDDEN)
  if (session.json)
    return session.output.json({ ...summaryJson(finished.summary), access: check, accessLog: shop.accessLog })
  const details = await detailsOf(session, finished.summary.crawl, finished.start?.spider ?? null)
  printSummary(session.output, finished.summary, details)
  const { delay = 0, concurrency } = demoDefinition({ origin: shop.origin }).definition.pace ?? {}
  printAccess(session, check, { delay: String(delay), concurrency: concurrency ?? 1 }, shop.accessLog)
  printNextSteps(session.output, 'Three things to try next:', nextSteps(session, finished, flags))
}

function printAccess(
  { output }: Session,
  check: AccessCheck,
  asked: { delay: string; concurrency: number },
  file: string,
): void {
  const { style, print } = output
  print()
  print(`What the shop saw ${style.dim(`(from its access log: ${relative('', file)})`)}`)
  print(`  ${count(check.requests).padStart(9)}  ${noun(check.requests, 'request')}, including robots.txt and retries`)
  if (check.medianGapMs !== null && check.smallestGapMs !== null) {
    const smallest = `crawl delay: ${asked.delay}; smallest gap: ${check.smallestGapMs.toFixed(1)} ms`
    print(`  ${check.medianGapMs.toFixed(1).padStart(9)}  ms median gap between requests ${style.dim(`(${smallest})`)}`)
  }
  print(
    `  ${String(check.mostAtOnce).padStart(9)}  ${noun(check.mostAtOnce, 'request')} at once, at most ${style.dim(`(limit: ${asked.concurrency})`)}`,
  )
  print(
    `  ${String(check.forbidden).padStart(9)}  ${noun(check.forbidden, 'request')} to pages that robots.txt disallows`,
  )
}

function nextSteps(session: Session, { summary }: FinishedRun, flags: DemoFlags): [string, string][] {
  const shoal = programName(process.env)
  const same = session.sameDatabase
  const failed = summary.deadLetters[0]?.examples[0]
  return [
    summary.interrupted
      ? [`${shoal} ${sameCommand(process.argv.slice(2))}`, 'resume where this run stopped']
      : [
          `${shoal} export --format csv --out ${shellWord(join(flags.dir, 'products.csv'))}${same}`,
          'export the records as a table',
        ],
    failed === undefined
      ? [`${shoal} records list --limit 5${same}`, 'show the first records']
      : [`${shoal} explain ${shellWord(failed.url)}${same}`, 'see why that page failed'],
    [`${shoal} init my-spider`, 'write your own spider'],
  ]
}
