import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.js'
import { spiderError } from '../../error-place.js'
import { asShoalError } from '../../errors.js'
import { createLog } from '../../log.js'
import { spiderForCrawl } from '../../spider/arguments.js'
import type { Spider } from '../../spider/spider.js'
import type { RecordStore } from '../../store/record-store.js'
import { createAdmitter } from '../../url/admit.js'
import { BackendWatch } from '../../while-away.js'
import { resultsFromPort } from '../../wire/backends.js'
import { LineLimit, pageReporter } from '../../worker/line-limit.js'
import { logOutput } from '../output/log-output.js'
import { spiderFrom } from '../spider-source.js'
import { type PageReader, type ReparseParts, reparsePages } from './reparse-pages.js'
import {
  DRAINING,
  type FromReparseThread,
  HANDLER_JOB,
  HANDLER_MOVES,
  HANDLER_PAGE,
  NO_PAGE,
  type ReparseJob,
  type ReparseThreadData,
  type ToReparseThread,
} from './reparse-thread-messages.js'

async function main(data: ReparseThreadData): Promise<void> {
  const { source, results, dryRun, startedAt, logLevel, beat } = data
  const clock = systemClock
  const log = createLog(logLevel, clock, (line) => send({ kind: 'log', line }))
  const lines = new LineLimit({ clock, log })
  const output = logOutput({ clock, log, lines })
  const watch = new BackendWatch(log, clock)
  const shared = new Int32Array(beat)
  const waiting: ToReparseThread[] = []
  let receive = (message: ToReparseThread): void => void waiting.push(message)
  parentPort?.on('message', (message: ToReparseThread) => receive(message))
  process.on('uncaughtException', (thrown: unknown) =>
    send({ kind: 'stray', message: spiderError('handler_error', thrown).message }),
  )

  // All threads load the same file: one of them shows what it prints.
  const load = () => spiderFrom(source)
  const spider = await (data.isFirst ? load() : output.dropped(load))
  const { store, pages, close } = await resultsFromPort(results)
  let turn: Promise<unknown> = Promise.resolve()
  const parts: Omit<ReparseParts, 'onHandler'> = {
    spider,
    readerOf: await readersOf(spider, store),
    store,
    pages,
    clock,
    dryRun,
    startedAt,
    inTurn(work) {
      const mine = turn.then(work)
      turn = mine.catch(() => {})
      return mine
    },
    isDraining: () => Atomics.load(shared, DRAINING) === 1,
    reporterOf: (link) => pageReporter(link, { log, lines }),
    untilBack: (call) => watch.wait('store', call, (ms) => clock.sleep(ms)),
  }

  const onHandler = (job: number) => (page: number | null) => {
    Atomics.store(shared, HANDLER_JOB, job)
    Atomics.store(shared, HANDLER_PAGE, page ?? NO_PAGE)
    Atomics.add(shared, HANDLER_MOVES, 1)
  }
  const work = async (job: ReparseJob): Promise<void> => {
    try {
      const report = await reparsePages(job.pages, { ...parts, onHandler: onHandler(job.id) })
      send({ kind: 'report', job: job.id, report })
    } catch (thrown) {
      fail(thrown)
    }
  }
  receive = (message) => {
    if (message.kind === 'job') void work(message.job)
    else {
      output.end()
      void close().then(() => send({ kind: 'stopped' }), fail)
    }
  }
  const handlerMs = Math.max(0, ...[...spider.routes.values()].map((route) => route.handlerTimeoutMs))
  send({ kind: 'ready', spider: { name: spider.name, savePages: spider.savePages, handlerMs } })
  for (const message of waiting) receive(message)
}

/**
 * The readers of the pages of each crawl: of a spider with arguments, one for each that its crawls were started with. A crawl that the store no longer
 * knows is read with the arguments of the command.
 */
async function readersOf(spider: Spider, { crawls }: RecordStore): Promise<ReparseParts['readerOf']> {
  const own: PageReader = { spider, admitter: createAdmitter(spider.admit) }
  if (spider.args === null) return () => own
  const argsOf = new Map((await crawls.notes()).map((note) => [note.crawl, note.spec.args ?? {}]))
  const readers = new Map<string, PageReader>()
  return (crawl) => {
    const args = argsOf.get(crawl)
    if (args === undefined) return own
    const key = JSON.stringify(args)
    const known = readers.get(key)
    if (known !== undefined) return known
    const built = spiderForCrawl(spider, args)
    const reader = { spider: built, admitter: createAdmitter(built.admit) }
    readers.set(key, reader)
    return reader
  }
}

function send(message: FromReparseThread): void {
  parentPort?.postMessage(message)
}

function fail(thrown: unknown): void {
  const { code, message, hint } = asShoalError(thrown)
  send({ kind: 'failed', code, message, hint })
}

await main(workerData as ReparseThreadData).catch(fail)
