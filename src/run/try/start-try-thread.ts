import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.js'
import { entryFile } from '../../entry-file.js'
import { ShoalError } from '../../errors.js'
import { isOutOfMemory, textOf } from '../../thrown.js'
import type { SpiderSource } from '../spider-source.js'
import { stuckPlace } from '../workers/stuck-place.js'
import { stuckWatch } from '../workers/stuck-watch.js'
import { BEAT_MS } from '../workers/worker-thread-messages.js'
import { failureOf, type PageFacts, type TriedPage, type TryOrder, unhandled } from './tried-page.js'
import type { FromTryThread, TryThreadData } from './try-thread-messages.js'

/**
 * How much longer than its timeout a handler may block its thread: one that only waits ends at the timeout, with an error of its own, and on a busy
 * machine the first use of `page.$` loads modules for a second.
 */
const SLACK_MS = 2_000

export interface TryRun {
  /** Rejects if there is no page to show: it could not be fetched, or the spider could not be loaded. */
  readonly tried: Promise<TriedPage>
  /** The files that the spider consists of, as far as they are known when it has ended. */
  readonly files: ReadonlySet<string>
  stop(): Promise<void>
}

/** Tries a page in a thread of its own: whatever the spider's code does, this ends, and says why. */
export function startTryThread(source: SpiderSource, order: TryOrder, clock: Clock): TryRun {
  const beat = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const beats = new Int32Array(beat)
  const data: TryThreadData = { source, order, beat }
  const thread = new Worker(entryFile(import.meta.url, './try-thread.js'), { workerData: data })
  const files = new Set<string>()
  const over = new AbortController()

  const tried = new Promise<TriedPage>((resolve, reject) => {
    let facts: PageFacts | null = null
    const lines: string[] = []
    let result: { readonly page: TriedPage } | { readonly error: ShoalError } | null = null
    let limitMs: number | null = null
    const end = () => {
      if (over.signal.aborted) return
      over.abort()
      if (result === null) reject(new ShoalError('internal', 'the thread of the spider ended without a result'))
      else if ('page' in result) resolve(result.page)
      else reject(result.error)
    }
    /** With what is known of the page, if it got that far. */
    const fail = (error: ShoalError) => {
      result ??= facts === null ? { error } : { page: unhandled(facts, failureOf(error), lines) }
    }
    const watch = async (): Promise<void> => {
      let isStuck = stuckWatch(0, clock.mono())
      let watched: number | null = null
      while (!over.signal.aborted) {
        await clock.sleep(BEAT_MS, over.signal)
        if (limitMs === null) continue
        if (limitMs !== watched) isStuck = stuckWatch(limitMs + SLACK_MS, clock.mono())
        watched = limitMs
        if (!isStuck(Atomics.load(beats, 0), clock.mono())) continue
        const message = `the spider's code blocked its thread for longer than handlerTimeout (${limitMs} ms): does it never end?`
        const place = await stuckPlace(thread.threadId, clock)
        fail(new ShoalError('handler_timeout', place === null ? message : `${place}: ${message}`))
        await thread.terminate()
      }
    }
    thread.on('message', (message: FromTryThread) => {
      if (message.kind === 'files') for (const file of message.files) files.add(file)
      else if (message.kind === 'limit') limitMs = message.handlerMs
      else if (message.kind === 'line') lines.push(message.line)
      else if (message.kind === 'facts') facts = message.facts
      else if (message.kind === 'tried') result ??= { page: message.page }
      else fail(new ShoalError(message.code, message.message, { hint: message.hint }))
      // What is left of the spider, such as a timer or a server that it started, does not keep the command waiting.
      if (message.kind === 'files') void thread.terminate()
    })
    thread.on('error', (thrown: unknown) => fail(new ShoalError('poison', deathOf(thrown))))
    thread.on('exit', (code) => {
      fail(new ShoalError('poison', `the spider's code ended its thread with code ${code}`))
      end()
    })
    void watch()
  })
  return {
    tried,
    files,
    async stop() {
      await thread.terminate()
    },
  }
}

function deathOf(thrown: unknown): string {
  return isOutOfMemory(thrown) ? "the spider's code used up the memory of its thread" : textOf(thrown)
}
