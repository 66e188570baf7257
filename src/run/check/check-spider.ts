import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.js'
import { entryFile } from '../../entry-file.js'
import { ShoalError } from '../../errors.js'
import type { CrawlArgs } from '../../frontier/frontier.js'
import { namedText } from '../../thrown.js'
import { plainError } from './check-fixture.js'
import type { CheckThreadData, FromCheckThread } from './check-messages.js'
import {
  type CheckError,
  type CheckedFixture,
  type CheckedSpider,
  type CheckReport,
  failedFixture,
} from './check-report.js'

interface CheckOptions {
  /** Of a spider with arguments. A saved page may have its own. */
  readonly args: CrawlArgs
  /** Accept what the spider makes of its pages now. */
  readonly update: boolean
  readonly clock: Clock
}

/** How much longer than its handlerTimeout a handler may block its thread, and how long a file may take to load. */
const SLACK_MS = 2_000
const LOAD_MS = 60_000

/** Loads a spider file as `run` does, and runs it over the pages in the folder `fixtures` next to it. Nothing is fetched. Never fails. */
export async function checkSpider(file: string, options: CheckOptions): Promise<CheckReport> {
  const fixtures: CheckedFixture[] = []
  const done: string[] = []
  let spider: CheckedSpider | null = null
  for (;;) {
    const end = await runThread({ file, args: options.args, update: options.update, done }, options.clock, {
      onLoaded: (loaded) => {
        spider = loaded
      },
      onFixture: (page, fixture) => {
        done.push(page)
        if (fixture !== null) fixtures.push(fixture)
      },
    })
    if (end.error === null) return { file, spider, error: null, fixtures }
    if (end.page === null) return { file, spider: null, error: end.error, fixtures }
    // The rest of the pages in a new thread.
    done.push(end.page)
    fixtures.push(failedFixture(end.page, end.error))
  }
}

interface Listener {
  onLoaded(spider: CheckedSpider): void
  onFixture(page: string, fixture: CheckedFixture | null): void
}

/** How the thread ended. With an error: while it ran the spider's code on this page, or (null) while it loaded the file. */
interface ThreadEnd {
  readonly page: string | null
  readonly error: CheckError | null
}

function runThread(data: CheckThreadData, clock: Clock, { onLoaded, onFixture }: Listener): Promise<ThreadEnd> {
  const thread = new Worker(entryFile(import.meta.url, './check-thread.js'), { workerData: data, stdout: true })
  // What the spider prints is not part of the report.
  thread.stdout.pipe(process.stderr, { end: false })
  return new Promise((resolve) => {
    let page: string | null = null
    let cancel = () => {}
    let isOver = false
    const end = (error: CheckError | null): void => {
      if (isOver) return
      isOver = true
      cancel()
      void thread.terminate().then(() => resolve({ page, error }))
    }
    const wait = (ms: number, late: () => ShoalError): void => {
      cancel()
      cancel = clock.after(ms, () => end(plainError(late())))
    }
    wait(LOAD_MS, () => new ShoalError('spider_syntax', `${data.file}: did not load within ${LOAD_MS / 1_000} s`))
    thread.on('message', (message: FromCheckThread) => {
      if (message.kind === 'loaded') onLoaded(message.spider)
      else if (message.kind === 'started') {
        page = message.file
        wait(message.ms + SLACK_MS, () => tooLong(message.ms))
      } else if (message.kind === 'ended') {
        cancel()
        page = null
        onFixture(message.file, message.fixture)
      } else if (message.kind === 'failed') end(message.error)
      else end(null)
    })
    // Out of memory, for example.
    thread.on('error', (error) => end(plainError(new ShoalError('handler_error', namedText(error), { cause: error }))))
    thread.on('exit', (code) =>
      end(plainError(new ShoalError('handler_error', `the spider's code ended its thread with code ${code}`))),
    )
  })
}

function tooLong(ms: number): ShoalError {
  return new ShoalError(
    'handler_timeout',
    `the spider's code blocked its thread for longer than handlerTimeout (${ms} ms)`,
  )
}
