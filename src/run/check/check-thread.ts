import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.js'
import { spiderError } from '../../error-place.js'
import { asShoalError, ShoalError } from '../../errors.js'
import { findFixtures, isRunnable } from '../../fixture/fixture-files.js'
import { definitionWarnings } from '../../spider/definition-warnings.js'
import { loadSpider } from '../../spider/load.js'
import { namedText } from '../../thrown.js'
import { refuseToEnd } from '../refuse-to-end.js'
import { checkFixture, plainError } from './check-fixture.js'
import type { CheckThreadData, FromCheckThread } from './check-messages.js'

/** The thread that loads a spider and runs it over its saved pages: a handler that never ends, or ends the process, ends only this thread. */

if (parentPort === null) throw new ShoalError('internal', 'this file runs in a thread')
const parent = parentPort
const say = (message: FromCheckThread) => parent.postMessage(message)
refuseToEnd()
// Thrown in a callback, or by a promise that nobody awaits. Node would end the thread itself, which the line above has made impossible.
process.on('uncaughtException', (thrown: unknown) => {
  const message = `in a callback that the handler did not wait for: ${namedText(thrown)}`
  say({ kind: 'failed', error: plainError(spiderError('handler_error', thrown, message)) })
})
const { file, args, update, done } = workerData as CheckThreadData

try {
  const spider = await loadSpider(file, args)
  const all = await findFixtures(join(dirname(file), 'fixtures'))
  const runnable = new Map(await Promise.all(all.map(async (page) => [page, await isRunnable(page)] as const)))
  const skipped = all.filter((page) => runnable.get(page) !== true)
  const { name, routes, records } = spider
  const warnings = definitionWarnings(spider)
  say({ kind: 'loaded', spider: { name, routes: routes.size, kinds: records.size, warnings, skipped } })
  for (const page of all) {
    if (skipped.includes(page) || done.includes(page)) continue
    const onHandler = (ms: number) => say({ kind: 'started', file: page, ms })
    const fixture = await checkFixture(spider, page, { update, clock: systemClock, onHandler })
    say({ kind: 'ended', file: page, fixture })
  }
  say({ kind: 'finished' })
} catch (error) {
  say({ kind: 'failed', error: plainError(asShoalError(error)) })
}
