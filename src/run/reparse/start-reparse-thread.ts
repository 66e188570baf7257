import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.js'
import { entryFile } from '../../entry-file.js'
import { ShoalError } from '../../errors.js'
import { textOf } from '../../thrown.js'
import { type StorePart, transferredResults } from '../../wire/backends.js'
import { stuckPlace } from '../workers/stuck-place.js'
import { stuckWatch } from '../workers/stuck-watch.js'
import { BEAT_MS } from '../workers/worker-thread-messages.js'
import type { ReparseReport } from './reparse-report.js'
import {
  BEAT_SLOTS,
  DRAINING,
  type FromReparseThread,
  HANDLER_JOB,
  HANDLER_MOVES,
  HANDLER_PAGE,
  type LoadedSpider,
  NO_PAGE,
  type ReparseJob,
  type ReparseThreadData,
  type ToReparseThread,
} from './reparse-thread-messages.js'

/** The result of a job. `died`: the thread has ended, and the job must be repeated. */
export type JobEnd =
  | { readonly kind: 'done'; readonly report: ReparseReport }
  | {
      readonly kind: 'died'
      readonly code: 'handler_timeout' | 'poison'
      readonly message: string
      /** It died in the handler of this page of the job. */
      readonly page: number | null
      /** A page of this job or of another one is to blame. */
      readonly blamed: boolean
    }

export interface ReparseThread {
  /** Resolves when its spider is loaded; rejects when that fails. */
  readonly ready: Promise<LoadedSpider>
  /** After a drain the report may cover fewer pages. */
  reparse(job: ReparseJob): Promise<JobEnd>
  close(): Promise<void>
}

export interface ThreadOptions extends Omit<ReparseThreadData, 'results' | 'beat'> {
  readonly results: StorePart
  readonly clock: Clock
  /** Once aborted, no further page is started. */
  readonly drain: AbortSignal
  /** How much longer than its timeout a handler may block the thread. */
  readonly slackMs: number
  readonly writeLog: (line: string) => void
  /** Thrown by work that nobody awaited. */
  readonly onStray: (message: string) => void
}

export function startReparseThread({
  results,
  clock,
  drain,
  slackMs,
  writeLog,
  onStray,
  ...rest
}: ThreadOptions): ReparseThread {
  const port = results.connect()
  if (port === null) throw new ShoalError('internal', 'this store cannot be shared with a thread')
  const beat = new SharedArrayBuffer(BEAT_SLOTS * Int32Array.BYTES_PER_ELEMENT)
  const shared = new Int32Array(beat)
  shared[HANDLER_PAGE] = NO_PAGE
  const data: ReparseThreadData = { ...rest, results: port, beat }
  const thread = new Worker(entryFile(import.meta.url, './reparse-thread.js'), {
    workerData: data,
    transferList: transferredResults(port),
  })
  let isReady = (_spider: LoadedSpider) => {}
  let isBroken = (_error: Error) => {}
  const ready = new Promise<LoadedSpider>((resolve, reject) => {
    isReady = resolve
    isBroken = reject
  })
  // Only the first thread is awaited; the others report through their jobs.
  ready.catch(() => {})
  const waiting = new Map<number, { resolve: (end: JobEnd) => void; reject: (error: Error) => void }>()
  const over = new AbortController()
  let isLoaded = false
  let stopped = () => {}

  const died = (code: 'handler_timeout' | 'poison', message: string): void => {
    if (over.signal.aborted) return
    over.abort()
    const job = Atomics.load(shared, HANDLER_JOB)
    const page = Atomics.load(shared, HANDLER_PAGE)
    const blamed = page !== NO_PAGE
    for (const [id, { resolve }] of waiting)
      resolve({ kind: 'died', code, message, page: id === job && blamed ? page : null, blamed })
    waiting.clear()
    isBroken(new ShoalError('spider_syntax', `the spider ended its thread while loading: ${message}`))
    stopped()
  }
  const failed = (error: Error): void => {
    over.abort()
    isBroken(error)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    stopped()
  }

  thread.on('message', (message: FromReparseThread) => {
    if (message.kind === 'log') writeLog(message.line)
    else if (message.kind === 'stray') onStray(message.message)
    else if (message.kind === 'failed') failed(new ShoalError(message.code, message.message, { hint: message.hint }))
    else if (message.kind === 'stopped') stopped()
    else if (message.kind === 'ready') {
      isLoaded = true
      isReady(message.spider)
      void watch(message.spider.handlerMs + slackMs)
    } else {
      waiting.get(message.job)?.resolve({ kind: 'done', report: message.report })
      waiting.delete(message.job)
    }
  })
  const onDrain = () => void Atomics.store(shared, DRAINING, 1)
  drain.addEventListener('abort', onDrain, { signal: over.signal })
  if (drain.aborted) onDrain()
  thread.on('error', (thrown: unknown) => died('poison', textOf(thrown)))
  thread.on('exit', (code) => died('poison', `it ended its thread with code ${code}`))

  const watch = async (stuckMs: number): Promise<void> => {
    const isStuck = stuckWatch(stuckMs, clock.mono())
    let looks = 0
    while (!over.signal.aborted) {
      await clock.sleep(BEAT_MS, over.signal)
      const moves = Atomics.load(shared, HANDLER_PAGE) === NO_PAGE ? -++looks : Atomics.load(shared, HANDLER_MOVES)
      if (!isStuck(moves, clock.mono())) continue
      const place = await stuckPlace(thread.threadId, clock)
      const message = `the handler blocked its thread for ${stuckMs} ms: does it never end?`
      died('handler_timeout', place === null ? message : `${place}: ${message}`)
      void thread.terminate()
    }
  }

  return {
    ready,
    reparse(job) {
      return new Promise((resolve, reject) => {
        if (over.signal.aborted)
          return resolve({ kind: 'died', code: 'poison', message: 'its thread is gone', page: null, blamed: true })
        waiting.set(job.id, { resolve, reject })
        const message: ToReparseThread = { kind: 'job', job }
        thread.postMessage(message)
      })
    },
    async close() {
      // A spider may take for ever to load, and receives no messages meanwhile.
      if (isLoaded && !over.signal.aborted) {
        const closed = new Promise<void>((resolve) => {
          stopped = resolve
        })
        const message: ToReparseThread = { kind: 'stop' }
        thread.postMessage(message)
        await closed
      }
      over.abort()
      await thread.terminate()
    },
  }
}
