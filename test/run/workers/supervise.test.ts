import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { silentLog } from '../../../src/log.js'
import { superviseWorker } from '../../../src/run/workers/supervise.js'
import { workerIds } from '../../../src/run/workers/worker-ids.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { tempDir } from '../../support/cli.js'
import { notedSpider, orderOf } from './processes.js'

let dir: ReturnType<typeof tempDir>
let backends: Backends

beforeEach(async () => {
  dir = tempDir('supervise')
  backends = await openBackends(orderOf(dir.path, '').settings)
})

afterEach(async () => {
  await backends.close()
  dir.remove()
})

function supervise(spider: string, stuckMs: number) {
  const parts = { backends, clock: systemClock, log: silentLog, writeLog: () => {}, newId: workerIds() }
  return superviseWorker({ ...orderOf(dir.path, spider), ...parts, stuckMs })
}

describe('a worker thread', () => {
  it('hears of the stop, although the one before it exits late', async () => {
    const slept = join(dir.path, 'slept')
    // Blocked in native code, which a thread leaves only when it is done.
    const script = `setTimeout(() => require('fs').writeFileSync(${JSON.stringify(slept)}, ''), 8000)`
    const spider = notedSpider(dir.path, `execFileSync(process.execPath, ['-e', ${JSON.stringify(script)}])`)
    const worker = supervise(spider.path, 2_000)
    await expect.poll(() => spider.pids().length, { timeout: 15_000 }).toBe(2)
    expect(existsSync(slept)).toBe(false)
    await expect.poll(() => existsSync(slept), { timeout: 15_000 }).toBe(true)
    await systemClock.sleep(500)
    await worker.stop(500)
  })

  it('can be stopped while its spider file loads', async () => {
    const spider = notedSpider(dir.path, 'setInterval(() => {}, 1000); await new Promise(() => {})')
    const worker = supervise(spider.path, 20_000)
    await expect.poll(() => spider.pids().length, { timeout: 15_000 }).toBe(1)
    await worker.stop(500)
  })
})
