import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.js'
import { isOwnFile, spiderError } from '../../error-place.js'
import { asShoalError } from '../../errors.js'
import { withoutOpenedSecrets } from '../../worker/secrets.js'
import { StrayErrors } from '../../worker/stray-errors.js'
import { logOutput } from '../output/log-output.js'
import { refuseToEnd } from '../refuse-to-end.js'
import { spiderFrom } from '../spider-source.js'
import { BEAT_MS } from '../workers/worker-thread-messages.js'
import { TryNotes } from './try-notes.js'
import { tryPage } from './try-page.js'
import type { FromTryThread, TryThreadData } from './try-thread-messages.js'

async function main({ source, order, beat }: TryThreadData): Promise<void> {
  refuseToEnd()
  const beats = new Int32Array(beat)
  let stopBeat = () => {}
  const keepBeating = () => {
    Atomics.add(beats, 0, 1)
    stopBeat = systemClock.after(BEAT_MS, keepBeating)
  }
  keepBeating()
  const notes = new TryNotes(systemClock, (line) => send({ kind: 'line', line }))
  const output = logOutput({ clock: systemClock, log: notes.log })
  const strays = new StrayErrors({ clock: systemClock, log: notes.log })
  process.on('uncaughtException', (thrown: unknown) => {
    if (!strays.caught(thrown)) fail(spiderError('handler_error', thrown))
  })
  try {
    const spider = await spiderFrom(source)
    const handlerMs = Math.max(0, ...[...spider.routes.values()].map((route) => route.handlerTimeoutMs))
    send({ kind: 'limit', handlerMs })
    const page = await tryPage(spider, order, {
      ...{ notes, strays },
      onFacts(facts) {
        send({ kind: 'facts', facts })
        send({ kind: 'limit', handlerMs: spider.routes.get(facts.route)?.handlerTimeoutMs ?? handlerMs })
      },
    })
    output.end()
    send({ kind: 'tried', page: { ...page, logs: notes.lines } })
  } catch (thrown) {
    fail(asShoalError(thrown))
  } finally {
    output.end()
    send({ kind: 'files', files: ownFiles() })
    stopBeat()
    parentPort?.close()
  }
}

/** The modules of the user that this thread has loaded. */
function ownFiles(): readonly string[] {
  return Object.keys(createRequire(import.meta.url).cache).filter(isOwnFile)
}

function fail({ code, message, hint }: ReturnType<typeof asShoalError>): void {
  send({ kind: 'failed', code, message: withoutOpenedSecrets(message), hint })
}

function send(message: FromTryThread): void {
  parentPort?.postMessage(message)
}

await main(workerData as TryThreadData)
