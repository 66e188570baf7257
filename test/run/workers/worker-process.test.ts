import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { type Log, silentLog } from '../../../src/log.js'
import { forkWorker } from '../../../src/run/workers/fork-worker.js'
import type { RunningWorker } from '../../../src/run/workers/start-worker.js'
import { type FromWorkerProcess, WORKER_ORDER } from '../../../src/run/workers/worker-process-messages.js'
import { version } from '../../../src/version.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { tempDir } from '../../support/cli.js'
import { isAlive, notedSpider, orderOf } from './processes.js'

let dir: ReturnType<typeof tempDir>
let backends: Backends
const children: ChildProcess[] = []
const workers: RunningWorker[] = []

beforeEach(async () => {
  dir = tempDir('worker-process')
  backends = await openBackends(orderOf(dir.path, '').settings)
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const worker of workers.splice(0)) await worker.stop(0)
  await backends.close()
  dir.remove()
})

function start(spider: string, clock = systemClock, log: Log = silentLog): RunningWorker {
  const worker = forkWorker(orderOf(dir.path, spider), {
    ...{ frontier: backends.frontier, clock, log },
    writeLog: () => {},
  })
  workers.push(worker)
  return worker
}

const SOON = { timeout: 15_000 }

describe('a worker process', () => {
  it('that fails with its database open ends, and says why', async () => {
    await expect(start(join(dir.path, 'nowhere.mjs')).ended).rejects.toMatchObject({ code: 'spider_missing' })
  })

  it('that is ended from outside is replaced, until it is stopped', async () => {
    const spider = notedSpider(dir.path)
    const worker = start(spider.path)
    await expect.poll(() => spider.pids().length, SOON).toBe(1)
    process.kill(spider.pids()[0] ?? 0, 'SIGTERM')
    await expect.poll(() => spider.pids().length, SOON).toBe(2)
    await worker.stop(500)
    expect(spider.pids().filter(isAlive)).toEqual([])
  })

  it('is not waited for between its death and its restart when it is stopped', async () => {
    const spider = notedSpider(dir.path)
    let died = 0
    const endless = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
    }
    const worker = start(spider.path, endless, { ...silentLog, error: () => died++ })
    await expect.poll(() => spider.pids().length, SOON).toBe(1)
    process.kill(spider.pids()[0] ?? 0, 'SIGKILL')
    await expect.poll(() => died, SOON).toBe(1)
    await worker.stop(500)
    expect(spider.pids()).toHaveLength(1)
  })

  it('that is stopped while it still loads its modules is not waited for, and did not die', async () => {
    const spider = notedSpider(dir.path)
    let died = 0
    const worker = start(spider.path, systemClock, { ...silentLog, error: () => died++ })
    await worker.stop(60_000)
    expect(spider.pids()).toEqual([])
    expect(died).toBe(0)
  })

  it('that waits for another to be ready never starts when it is stopped first', async () => {
    const spider = notedSpider(dir.path)
    let ready = () => {}
    const startAfter = new Promise<void>((resolve) => {
      ready = resolve
    })
    const parts = { frontier: backends.frontier, clock: systemClock, log: silentLog, writeLog: () => {}, startAfter }
    const worker = forkWorker(orderOf(dir.path, spider.path), parts)
    const stopped = worker.stop(500)
    ready()
    await stopped
    expect(spider.pids()).toEqual([])
  })

  it('of a newer version may send what this one does not know', async () => {
    const spider = notedSpider(dir.path)
    const { NODE_OPTIONS } = process.env
    process.env.NODE_OPTIONS = `--import=data:text/javascript,process.send?.({kind:'news'})`
    const worker = start(spider.path)
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = NODE_OPTIONS
    await expect.poll(() => spider.pids().length, SOON).toBe(1)
    await worker.stop(500)
    await worker.ended
  })

  it('of another version than its command says so', async () => {
    const { settings, ...order } = orderOf(dir.path, join(dir.path, 'nowhere.mjs'))
    const entry = fileURLToPath(new URL('../../../dist/run/workers/worker-process.js', import.meta.url))
    const saidWith = async (version: string | undefined) => {
      const asked = { ...order, version, settings: { ...settings, logLevel: 'warn' } }
      const child = fork(entry, [], {
        execArgv: [],
        stdio: 'ignore',
        env: { ...process.env, [WORKER_ORDER]: JSON.stringify(asked) },
      })
      children.push(child)
      let said = ''
      child.on('message', (message: FromWorkerProcess) => {
        if (message.kind === 'log') said += message.line
      })
      await once(child, 'exit')
      return said
    }
    expect(await saidWith('0.0.1')).toMatch(/worker\.version.*0\.0\.1.*restart the command/)
    expect(await saidWith(undefined)).toContain('worker.version')
    expect(await saidWith(version)).not.toContain('worker.version')
  })

  it.each([0, 100, 250])('ends when its parent goes %i ms after the start', async (afterMs) => {
    const spider = notedSpider(dir.path)
    const entry = fileURLToPath(new URL('../../../dist/run/workers/worker-process.js', import.meta.url))
    const child = fork(entry, [], {
      execArgv: [],
      stdio: 'ignore',
      env: { ...process.env, [WORKER_ORDER]: JSON.stringify(orderOf(dir.path, spider.path)) },
    })
    children.push(child)
    await systemClock.sleep(afterMs)
    child.disconnect()
    const [code, signal] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode, null]
    expect({ code, signal }).toEqual({ code: 0, signal: null })
  })
})
