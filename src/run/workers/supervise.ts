import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.js'
import type { ProcessSettings } from '../../config.js'
import { entryFile } from '../../entry-file.js'
import { ShoalError } from '../../errors.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import { isOutOfMemory, textOf } from '../../thrown.js'
import { withoutUserInfo } from '../../url/show-url.js'
import { type Backends, transferred } from '../../wire/backends.js'
import type { SpiderSource } from '../spider-source.js'
import { watchForDrain } from './drain-watch.js'
import { forfeit } from './forfeit.js'
import { postVitals } from './post-vitals.js'
import { restartPause } from './restart-pause.js'
import type { RunningWorker } from './start-worker.js'
import { stuckPlace } from './stuck-place.js'
import { stuckWatch } from './stuck-watch.js'
import { BEAT_MS, type FromWorkerThread, type ToWorkerThread, type WorkerThreadData } from './worker-thread-messages.js'

export interface SuperviseOptions {
  readonly settings: ProcessSettings
  readonly backends: Backends
  readonly sources: readonly SpiderSource[]
  readonly log: Log
  readonly clock: Clock
  /** How long the event loop of a worker may be blocked: a handler past its timeout, and some more. */
  readonly stuckMs: number
  readonly writeLog: (line: string) => void
  readonly newId: () => WorkerId
  /** Called for each worker that starts: if the process dies, its parent forfeits the leases of the last one. */
  readonly onWorker?: (id: WorkerId) => void
  /** Called each time a thread has loaded everything and asks for pages. */
  readonly onReady?: () => void
  /** Called every few seconds; silence means that the event loop is blocked. */
  readonly onVitals?: (vitals: Vitals) => void
  readonly onGone?: (id: WorkerId) => void
}

/**
 * A supervised worker thread: one that hangs in a handler is terminated, one that dies is replaced, and the leases of either return to the queue at
 * once. A link that kills workers again and again is leased alone there, and then becomes a dead letter.
 */
export function superviseWorker(options: SuperviseOptions): RunningWorker {
  const { clock, log, backends } = options
  let current: { stop(graceMs: number): void } | null = null
  let drained = false
  let findsStrays = false
  const stopping = new AbortController()
  const notes = postVitals(backends.notes, clock)

  const ended = (async () => {
    for (let pauseMs = 0; ; ) {
      const id = options.newId()
      options.onWorker?.(id)
      const startedAt = clock.mono()
      const unwatch = watchForDrain(id, { notes: backends.notes, clock, log }, () => {
        drained = true
        stop(options.settings.graceMs)
      })
      const end = await runThread(id)
      unwatch()
      options.onGone?.(id)
      await notes.clear(id)
      if (end.kind === 'stopped') {
        // It holds nothing any more; this takes it off the list of workers.
        await forfeit(backends.frontier, id, clock, stopping.signal)
        return
      }
      if (end.kind === 'failed') throw new ShoalError(end.code, end.message, { hint: end.hint })
      const reclaimed = await forfeit(backends.frontier, id, clock, stopping.signal, withoutUserInfo(end.message))
      log.error(end.kind === 'stuck' ? 'worker.stuck' : 'worker.died', { worker: id, message: end.message, reclaimed })
      pauseMs = restartPause(pauseMs, clock.mono() - startedAt)
      await clock.sleep(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
    }
  })()
  // Until someone awaits `ended`, its failure is no unhandled rejection.
  ended.catch(() => {})

  type End = Extract<FromWorkerThread, { kind: 'stopped' | 'failed' }> | { kind: 'stuck' | 'died'; message: string }

  function runThread(id: WorkerId): Promise<End> {
    const ports = backends.connect()
    if (ports === null) throw new ShoalError('internal', 'these backends cannot be shared with a thread')
    const beat = new SharedArrayBuffer(4)
    const data: WorkerThreadData = {
      id,
      sources: options.sources,
      settings: options.settings,
      ports,
      beat,
      findsStrays,
    }
    const thread = new Worker(entryFile(import.meta.url, './worker-thread.js'), {
      workerData: data,
      transferList: transferred(ports),
    })
    let isReady = false
    return new Promise((resolve) => {
      const watching = watch(new Int32Array(beat), () => {
        clearInterval(watching)
        void stuckPlace(thread.threadId, clock).then((place) => {
          const seconds = Math.round(options.stuckMs / 1_000)
          const who = isReady ? 'the handler' : 'loading the spider'
          const message = `${who} blocked its thread for ${seconds} s, longer than handlerTimeout: does it never end?`
          finish({ kind: 'stuck', message: place === null ? message : `${place}: ${message}` })
          void thread.terminate()
        })
      })
      const finish = (end: End) => {
        clearInterval(watching)
        // A thread that was terminated inside native code ends late, when the next one is already running.
        if (current === control) current = null
        resolve(end)
      }
      const control = {
        stop(graceMs: number) {
          if (isReady) return send(thread, { kind: 'stop', graceMs })
          // It is still loading, possibly for ever, and holds nothing.
          finish({ kind: 'stopped' })
          void thread.terminate()
        },
      }
      current = control
      thread.on('message', (message: FromWorkerThread) => {
        if (message.kind === 'log') options.writeLog(message.line)
        else if (message.kind === 'ready') {
          isReady = true
          options.onReady?.()
        } else if (message.kind === 'vitals') {
          notes.post(message.vitals)
          options.onVitals?.(message.vitals)
        } else if (message.kind === 'uncaught') {
          findsStrays = true
          finish({ kind: 'died', message: message.message })
        } else finish(message)
      })
      thread.on('error', (thrown: unknown) => finish({ kind: 'died', message: diedOf(thrown) }))
      thread.on('exit', (code) => finish({ kind: 'died', message: `the thread ended with code ${code}` }))
    })
  }

  function watch(beat: Int32Array, stuck: () => void): NodeJS.Timeout {
    const isStuck = stuckWatch(options.stuckMs, clock.mono())
    return setInterval(() => {
      const beats = Atomics.load(beat, 0)
      // Until the first beat it loads its modules, which takes seconds on a busy machine: no handler is stuck.
      if (beats > 0 && isStuck(beats, clock.mono())) stuck()
    }, BEAT_MS)
  }

  function stop(graceMs: number): void {
    stopping.abort()
    current?.stop(graceMs)
  }

  return {
    async stop(graceMs) {
      stop(graceMs)
      await ended.catch(() => {})
    },
    ended,
    get drained() {
      return drained
    },
  }
}

function send(thread: Worker, message: ToWorkerThread): void {
  thread.postMessage(message)
}

function diedOf(thrown: unknown): string {
  return isOutOfMemory(thrown) ? 'the handler ran out of memory: the heap of its thread is full' : textOf(thrown)
}
