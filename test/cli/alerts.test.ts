import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { asUserError } from '../../src/cli/failure.js'
import { buildProgram } from '../../src/cli/program.js'
import type { Alert } from '../../src/observe/alerts/alert.js'
import { NO_ALERTS, postAlerts } from '../../src/observe/alerts/alert-notes.js'
import { openBackends } from '../../src/wire/backends.js'

/** The commands in this very process: a process of its own for each would take a second. */
const dir = mkdtempSync(join(tmpdir(), 'shoal-alerts-cli-'))
const file = join(dir, 'alerts.json')
const address = `sqlite:${join(dir, 'shoal.db')}`
let hook: Server
let status: number
let posted: string[]

beforeAll(async () => {
  hook = createServer(async (request, response) => {
    posted.push(Buffer.concat(await request.toArray()).toString())
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`
  const rules = { error_spike: { share: 0.3, window: '10min' }, eta_slipping: false }
  writeFileSync(
    file,
    JSON.stringify({ rules, webhooks: [{ url, allowPrivate: ['127.0.0.1:*'] }], commands: [['cat']] }),
  )
})
afterAll(async () => {
  hook.closeAllConnections()
  await new Promise((resolve) => hook.close(resolve))
  rmSync(dir, { recursive: true, force: true })
})
beforeEach(() => {
  status = 204
  posted = []
})

async function shoal(...args: string[]): Promise<{ out: string; notes: string; error: string | null; exit: number }> {
  const said = { out: '', notes: '' }
  const into = (place: keyof typeof said) => (chunk: string | Uint8Array) => {
    said[place] += String(chunk)
    return true
  }
  const listening = [
    vi.spyOn(process.stdout, 'write').mockImplementation(into('out')),
    vi.spyOn(process.stderr, 'write').mockImplementation(into('notes')),
  ]
  try {
    const program = await buildProgram()
    await program.parseAsync(['node', 'shoal', ...args, '--queue', address])
    return { ...said, error: null, exit: 0 }
  } catch (thrown) {
    const error = asUserError(thrown)
    return { ...said, error: `${error.code}: ${error.message}`, exit: error.exitCode }
  } finally {
    for (const one of listening) one.mockRestore()
  }
}

describe('shoal alerts', () => {
  it('lists what holds and what ended, and says when nobody watches', async () => {
    const backends = await openBackends({ queue: address, store: address })
    const alert: Alert = {
      ...{ rule: 'no_progress', severity: 'critical', episode: 'e', about: 'c1', crawl: 'c1', spider: 'books' },
      ...{ message: 'nothing moves \u001b[31m', next: 'Look at it.', fields: {}, since: Date.now() - 60_000 },
    }
    expect(await shoal('alerts')).toMatchObject({
      out: 'no active alerts\n',
      notes: expect.stringContaining('No process'),
    })
    const ended = [{ ...alert, rule: 'dead_rising' as const, endedAt: Date.now() }]
    await postAlerts(backends.notes, 'w', { ...NO_ALERTS, active: [alert], ended }, 1)
    await backends.close()
    const { out, notes } = await shoal('alerts')
    expect(out).toMatch(/^no_progress {2}books c1 {2}since .*\n {2}nothing moves/)
    expect(out).not.toContain('\u001b[31m')
    expect(out).toMatch(/dead_rising/)
    expect(notes).toBe('')
    const lines = (await shoal('alerts', '--json')).out.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { state: 'active', rule: 'no_progress', crawl: 'c1' },
      { state: 'ended', rule: 'dead_rising', endedAt: expect.any(Number) },
    ])
  })

  it('shows every rule with the thresholds that hold', async () => {
    const { out } = await shoal('alerts', 'rules', '--alerts', file)
    expect(out).toMatch(/error_spike +share 0\.3, .*window 10 min/)
    expect(out).toMatch(/eta_slipping +off/)
    const lines = (await shoal('alerts', 'rules', '--json')).out.trim().split('\n')
    expect(lines).toHaveLength(10)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ on: true, meaning: expect.any(String) })
  })

  it('tests every channel, and fails when one of them does', async () => {
    const good = await shoal('alerts', 'test', '--alerts', file, '--rule', 'worker_lost')
    expect(good).toMatchObject({ error: null, exit: 0 })
    expect(good.out).toMatch(/^log: ok\nwebhook 1 \(http:\/\/127\.0\.0\.1:\d+\): ok\ncommand 1 \(cat\): ok\n$/)
    expect(good.notes).toContain('"event":"alert.began","test":true,"rule":"worker_lost"')
    expect(JSON.parse(posted[0] ?? '')).toMatchObject({ test: true, alert: { rule: 'worker_lost' } })
    status = 500
    const bad = await shoal('alerts', 'test', '--alerts', file, '--json')
    expect(bad).toMatchObject({
      exit: 4,
      error: expect.stringMatching(/^alert_undelivered: webhook 1 .*: it answers 500$/),
    })
    expect(bad.out).toContain('"ok":false,"error":"it answers 500"')
  })

  it('refuses a file that is wrong, and one that is not there', async () => {
    const wrong = join(dir, 'wrong.json')
    writeFileSync(wrong, '{"rules":{"no_progres":false}}')
    expect(await shoal('alerts', 'test', '--alerts', wrong)).toMatchObject({
      exit: 3,
      error: "alerts_invalid: wrong.json: rules: unknown option 'no_progres', did you mean 'no_progress'?",
    })
    expect(await shoal('alerts', 'rules', '--alerts', join(dir, 'none.json'))).toMatchObject({ exit: 3 })
    expect(await shoal('alerts', 'test', '--rule', 'nonsense')).toMatchObject({ exit: 2 })
  })
})
