import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { showTop } from '../../../src/cli/top/show-top.js'
import { createSnapshots, type Snapshots } from '../../../src/cli/top/top-snapshot.js'
import { systemClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import type { Alert } from '../../../src/observe/alerts/alert.js'
import { postAlerts } from '../../../src/observe/alerts/alert-notes.js'
import { vitalsKey } from '../../../src/observe/note-keys.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { someVitals } from '../../observe/vitals/some-vitals.js'
import { BIN, lastJson, runCli, tempDir } from '../../support/cli.js'
import { CRAWL, seedBackends, seedDatabase } from '../seeded-database.js'
import { fakeTerminal } from './fake-terminal.js'
import { someSnapshot } from './some-snapshot.js'

// Before ink is loaded: where CI is set it draws nothing.
vi.hoisted(() => {
  process.env.CI = 'false'
  process.env.CONTINUOUS_INTEGRATION = 'false'
})

const ENTER = '\x1b[?1049h'
const LEAVE = '\x1b[?1049l'

function show(snapshots: Snapshots, carryOut: () => Promise<string> = async () => 'done') {
  const terminal = fakeTerminal()
  const style = styleFor({ isTTY: true }, { NO_COLOR: '1' })
  const ended = showTop({ snapshots, clock: systemClock, everyMs: 50, where: 'memory:', style, carryOut }, terminal)
  return { terminal, ended, shows: (text: string) => expect.poll(() => terminal.screen().join('\n')).toContain(text) }
}

describe('on a terminal', () => {
  it('follows keys and sizes, pauses after y, and leaves the terminal as it was', async () => {
    const carryOut = vi.fn(async () => 'crawl books-1 of books is paused')
    const { terminal, ended, shows } = show({ take: async () => someSnapshot() }, carryOut)
    await shows('bottleneck: the pace of shop.example')
    expect(terminal.written()).toContain(ENTER)
    terminal.press('p')
    await shows('Pause crawl books-1 of books? y / n')
    terminal.press('y')
    await shows('crawl books-1 of books is paused')
    expect(carryOut).toHaveBeenCalledWith({ kind: 'set', crawl: 'books-1', spider: 'books', state: 'paused' })
    terminal.press('\r')
    await shows('books  crawl books-1  running')
    terminal.press('\x1b')
    await shows('─ crawls')
    terminal.press('\t')
    await shows('› shop.example')
    terminal.resize(60, 12)
    await expect.poll(() => Math.max(...terminal.screen().map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(terminal.screen().length).toBeLessThanOrEqual(12)
    terminal.press('q')
    await ended
    expect(terminal.written().endsWith(`${LEAVE}\x1b[?25h`)).toBe(true)
  })

  it('tells what went wrong with an order, and goes on', async () => {
    const { terminal, ended, shows } = show({ take: async () => someSnapshot() }, async () => {
      throw new ShoalError('crawl_ended', 'crawl books-1 is finished')
    })
    await shows('books')
    terminal.press('py')
    await shows('crawl_ended: crawl books-1 is finished')
    terminal.press('\x03')
    await ended
    expect(terminal.written()).toContain(LEAVE)
  })

  it('keeps what it saw while the queue is down, and goes on when it is back', async () => {
    let away = false
    const { terminal, ended, shows } = show({
      async take() {
        if (away) throw new ShoalError('queue_down', 'the queue is down')
        return someSnapshot()
      },
    })
    await shows('books')
    away = true
    await shows('queue_down: the queue is down. Retrying')
    expect(terminal.screen().join('\n')).toContain('books')
    away = false
    await expect.poll(() => terminal.screen().join('\n')).not.toContain('queue_down')
    terminal.press('q')
    await ended
  })

  it('ends with the error when it is no use to go on, and gives the terminal back', async () => {
    const { terminal, ended } = show({
      take: async () => {
        throw new ShoalError('db_corrupt', 'no database')
      },
    })
    await expect(ended).rejects.toMatchObject({ code: 'db_corrupt' })
    expect(terminal.written()).toContain(LEAVE)
  })
})

describe('what is looked at', () => {
  let backends: Backends
  beforeEach(async () => {
    backends = await openBackends({ queue: 'memory:', store: 'memory:' })
    await seedBackends(backends.frontier, backends.store)
  })
  afterEach(() => backends.close())

  it('is every crawl, workers with their vitals, alerts; rates are measured from one to the next', async () => {
    const { frontier, notes } = backends
    await notes.post(vitalsKey('w1'), 'vitals', JSON.stringify(someVitals({ worker: 'w1' })), 60_000)
    const alert: Alert = {
      rule: 'no_progress',
      severity: 'warn',
      ...{ episode: 'e', about: CRAWL, crawl: CRAWL, spider: 'shop' },
      ...{ message: 'nothing moves', next: '', fields: {}, since: 0 },
    }
    await postAlerts(notes, 'watch', { active: [alert], ended: [], undelivered: [] }, 1)
    let now = systemClock.now()
    const snapshots = createSnapshots(backends, { clock: { ...systemClock, now: () => now }, fleet: false })
    const first = await snapshots.take()
    expect(first.crawls.map(({ stats, snapshot }) => [stats.id, snapshot?.hosts.length])).toEqual([[CRAWL, 1]])
    expect(first.workers.map(({ worker, vitals }) => [worker, vitals?.slots])).toEqual([['w1', 4]])
    expect(first.alerts.map(({ message }) => message)).toEqual(['nothing moves'])
    expect(first.crawls[0]?.rates).toEqual([])
    const [lease] = (await frontier.lease({ worker: 'w1', seq: 2, want: 1, spiders: ['shop'] })).leases
    if (lease === undefined) throw new Error('nothing was leased')
    await frontier.settle([{ lease, outcome: { kind: 'done', links: [], bytes: 1 } }])
    now += 500
    expect((await snapshots.take()).crawls[0]?.rates).toEqual([2])
    await frontier.setState(CRAWL, 'cancelled')
    expect((await snapshots.take()).crawls[0]).toMatchObject({ snapshot: null, advice: null })
  })
})

describe('the command', () => {
  it('says what to use where there is no terminal', async () => {
    const next = 'Use `shoal status --json` or `shoal status --watch`.'
    const piped = await runCli(['top'])
    expect(piped).toMatchObject({ code: 2, stdout: '' })
    expect(piped.stderr).toBe(`error usage: top needs a terminal\n  → ${next}\n`)
    const json = await runCli(['top', '--json'])
    expect(json.code).toBe(2)
    expect(lastJson(json.stderr)).toMatchObject({ error: { code: 'usage', hint: next } })
  })

  it.skipIf(spawnSync('script', ['--version']).status !== 0)(
    'draws on a real terminal, pauses with an entry in the audit log, and leaves it as it was, also on SIGTERM',
    async () => {
      const dir = tempDir('top')
      const address = `sqlite:${join(dir.path, 'shoal.db')}`
      await seedDatabase(join(dir.path, 'shoal.db'))
      const pidFile = join(dir.path, 'pid')
      const start = () => {
        const inside = `stty cols 80 rows 24; echo $$ > ${pidFile}; exec ${process.execPath} ${BIN} top --queue ${address} --every 200ms`
        // CI is no reason to draw nothing: a person has this terminal.
        const child = spawn('script', ['-qfec', inside, '/dev/null'], {
          ...{ cwd: dir.path, stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, CI: 'true' } },
        })
        let out = ''
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          out += text
        })
        const shows = (text: string) => expect.poll(() => out, { timeout: 15_000 }).toContain(text)
        return { child, shows, out: () => out, ended: once(child, 'exit') }
      }
      try {
        const first = start()
        await first.shows('hosts of shop')
        first.child.stdin.write('p')
        await first.shows('Pause crawl shop-1 of shop? y / n')
        first.child.stdin.write('y')
        await first.shows('crawl shop-1 of shop is paused')
        first.child.stdin.write('q')
        expect((await first.ended)[0]).toBe(0)
        expect(first.out()).toContain(ENTER)
        expect(first.out()).toContain(LEAVE)
        const audit = await runCli(['audit', '--json', '--queue', address, '--store', address], { cwd: dir.path })
        expect(lastJson(audit.stdout)).toMatchObject({ action: 'crawl.pause', target: CRAWL, result: 'ok' })

        const second = start()
        await second.shows('hosts of shop')
        process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM')
        await second.ended
        expect(second.out()).toContain(LEAVE)
      } finally {
        dir.remove()
      }
    },
  )
})
