import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openResults } from '../../src/wire/backends.js'
import { runCli, startCli, tempDir } from '../support/cli.js'
import { startRedis } from '../support/redis-server.js'

const dir = tempDir('cli-dashboard')
const cwd = dir.path
let served: ReturnType<typeof startCli>
let address: URL
let token: string

beforeAll(async () => {
  writeFileSync(
    join(cwd, 'shop.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'shop', start: ['http://shop.example/'], routes: { page: { match: '/**' } } })`,
  )
  served = startCli(['dashboard', 'shop.ts', '--port', '0', '--json'], { cwd })
  address = await addressOf(served)
  token = tokenIn(address)
})

async function addressOf({ child: { stdout } }: ReturnType<typeof startCli>): Promise<URL> {
  if (stdout === null) throw new Error('its output is read')
  const [line] = (await once(stdout, 'data')) as [string]
  return new URL((JSON.parse(line) as { url: string }).url)
}

function tokenIn({ hash }: URL): string {
  return hash.replace('#token=', '')
}

afterAll(() => {
  served.child.kill('SIGKILL')
  dir.remove()
})

describe('shoal dashboard', () => {
  it('prints an address of this machine with a token, and serves the page and its API there', async () => {
    expect(address.hostname).toBe('127.0.0.1')
    expect(token.length).toBeGreaterThanOrEqual(43)
    expect(await (await fetch(new URL('/', address))).text()).toContain('<script type="module"')
    const overview = await fetch(new URL('/api/overview', address), { headers: { authorization: `Bearer ${token}` } })
    expect(await overview.json()).toMatchObject({ spiders: ['shop'], crawls: [], health: { ok: true } })
    expect((await fetch(new URL('/api/overview', address))).status).toBe(401)
  })

  it.each([[[]], [['--json']]])('never prints a token that was given: %j', async (flags) => {
    writeFileSync(join(cwd, 'token'), 'a-token-of-the-fleet')
    const env = { SHOAL_TOKEN_FILE: join(cwd, 'token') }
    const { child, result } = startCli(['dashboard', 'shop.ts', '--port', '0', ...flags], { cwd, env })
    const printed = flags.length === 0 ? child.stderr : child.stdout
    if (printed === null) throw new Error('its output is read')
    await once(printed, 'data')
    child.kill('SIGINT')
    const { code, stdout, stderr } = await result
    expect(code).toBe(0)
    expect(stdout + stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+\/["\s]/)
    expect(stdout + stderr).not.toContain('token-of-the-fleet')
  })

  it.each<[what: string, flags: string[], env: Record<string, string>, code: string]>([
    ['a port in use', ['--port', '<used>'], {}, 'dashboard_port'],
    ['no port at all', ['--port', 'many'], {}, 'config_invalid'],
    ['another address than loopback without a token', ['--host', '0.0.0.0'], {}, 'dashboard_open'],
    ['an empty token', ['--host', '0.0.0.0'], { SHOAL_TOKEN: '' }, 'config_invalid'],
    ['a token that can be guessed', [], { SHOAL_TOKEN: 'secret' }, 'config_invalid'],
    ['a queue that ends with the process', ['--queue', 'memory:'], {}, 'queue_unknown'],
    ['no database', ['--queue', 'sqlite:nowhere.db'], {}, 'not_found'],
    ['a spider that is not there', ['nowhere.ts'], {}, 'spider_missing'],
  ])('refuses %s with the next step', async (_what, flags, env, code) => {
    const { code: exit, stderr } = await runCli(
      ['dashboard', ...flags.map((flag) => flag.replace('<used>', address.port))],
      { cwd, env },
    )
    const [line = '', hint = '', ...rest] = stderr.trimEnd().split('\n')
    expect({ line, rest }).toEqual({ line: expect.stringMatching(new RegExp(`^error ${code}: `)), rest: [] })
    expect(hint).toMatch(/^ {2}→ \S/)
    expect(exit).toBeGreaterThan(0)
    expect(stderr).not.toContain('secret')
  })

  it('beside a queue on a server makes the file of records: what is asked for on the page is noted there', async () => {
    const redis = await startRedis()
    const store = `sqlite:${join(cwd, 'notes.db')}`
    const fleet = startCli(['dashboard', '--queue', redis.url, '--store', store, '--port', '0', '--json'], { cwd })
    try {
      const at = await addressOf(fleet)
      const headers = { authorization: `Bearer ${tokenIn(at)}`, 'content-type': 'application/json' }
      const order = { method: 'PUT', headers, body: JSON.stringify({ delayMs: 1_000 }) }
      expect((await fetch(new URL('/api/hosts/shop.example', at), order)).status).toBe(200)
    } finally {
      fleet.child.kill('SIGINT')
      await fleet.result
      await redis.stop()
    }
    const results = await openResults({ store })
    const { entries } = await results.store.audit.entries({ limit: 10 })
    expect(entries).toMatchObject([{ by: 'dashboard', target: 'shop.example' }])
    await results.close()
  })

  it('ends at Ctrl-C, also while somebody listens', async () => {
    const stream = await fetch(new URL('/api/events', address), { headers: { authorization: `Bearer ${token}` } })
    expect(stream.status).toBe(200)
    served.child.kill('SIGINT')
    expect((await served.result).code).toBe(0)
    await stream.text().catch(() => {})
  })
})
