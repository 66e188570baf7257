import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { asUserError } from '../../src/cli/failure.js'
import { buildProgram } from '../../src/cli/program.js'
import { openBackends } from '../../src/wire/backends.js'
import { batch, record } from '../contract/record-store-contract.js'

/** The commands in this very process: a process of its own for each would take a second. */
const dir = mkdtempSync(join(tmpdir(), 'shoal-outlets-cli-'))
const file = join(dir, 'books.ts')
const address = `sqlite:${join(dir, 'shoal.db')}`
let hook: Server
let status: number
let posted: number

beforeAll(async () => {
  hook = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      if (status < 300) posted += (JSON.parse(body) as { records: unknown[] }).records.length
      response.writeHead(status).end('unknown field')
    })
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'books', start: ['https://books.example/'], allowPrivate: ['127.0.0.1:*'], routes: { page: { match: '**' } },
       outlets: [
         { webhook: '${url}' },
         { webhook: '${url}', name: 'signed', secretEnv: 'NOT_SET_ANYWHERE' },
         { redis: 'list', address: 'redis://127.0.0.1:1' },
       ],
     })`,
  )
})
afterAll(async () => {
  hook.closeAllConnections()
  await new Promise((resolve) => hook.close(resolve))
  rmSync(dir, { recursive: true, force: true })
})
beforeEach(() => {
  status = 200
  posted = 0
})

async function shoal(...args: string[]): Promise<{ out: string; error: string | null; exit: number }> {
  let out = ''
  const writing = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk)
    return true
  })
  try {
    const program = await buildProgram()
    await program.parseAsync(['node', 'shoal', ...args, '--queue', address])
    return { out, error: null, exit: 0 }
  } catch (thrown) {
    const error = asUserError(thrown)
    return { out, error: `${error.code}: ${error.message}`, exit: error.exitCode }
  } finally {
    writing.mockRestore()
  }
}

async function store(...keys: string[]): Promise<void> {
  const backends = await openBackends({ queue: address, store: address })
  await backends.store.records.write(batch({ records: keys.map((key) => record({ key })) }))
  await backends.close()
}

describe('shoal outlets', () => {
  it('shows an outlet that is refused, and goes on after a reset', async () => {
    await store('a', 'b')
    expect(await shoal('outlets', 'list')).toMatchObject({ out: '', exit: 0 })
    status = 422
    expect(await shoal('outlets', 'run', file, 'webhook')).toMatchObject({
      error: 'outlet_refused: outlet books/webhook: it answers 422: unknown field',
      exit: 4,
    })
    const [listed = ''] = (await shoal('outlets', 'list', 'books', '--json')).out.split('\n')
    expect(JSON.parse(listed)).toMatchObject({
      ...{ name: 'books/webhook', state: 'stopped', sent: 0, sentAt: null, trimmed: 0, holder: null },
      ...{ error: 'it answers 422: unknown field', lag: { records: 2, more: false } },
    })
    expect((await shoal('outlets', 'list')).out).toMatch(/books\/webhook +stopped +0 +never +2 .*422/)
    status = 200
    expect(await shoal('outlets', 'reset', 'books', 'webhook', '--to', 'here')).toMatchObject({ exit: 0 })
    expect((await shoal('outlets', 'run', file, 'webhook')).out).toBe('books/webhook: 2 records sent\n')
    expect(posted).toBe(2)
  })

  it('sends everything again, or leaves out what waits', async () => {
    await store('c', 'd', 'e')
    expect((await shoal('outlets', 'reset', 'books', 'webhook', '--to', 'end')).exit).toBe(0)
    await store('f')
    const ran = await shoal('outlets', 'run', file, 'webhook', '--json')
    expect(JSON.parse(ran.out)).toEqual({ outlet: 'books/webhook', kind: 'delivered', sent: 1 })
    expect((await shoal('outlets', 'reset', file, 'webhook', '--to', 'start')).exit).toBe(0)
    expect((await shoal('outlets', 'run', file, 'webhook')).out).toBe('books/webhook: 6 records sent\n')
    const { out } = await shoal('outlets', 'list', '--json')
    expect(JSON.parse(out)).toMatchObject({ state: 'idle', sent: 9, lag: { records: 0, more: false, seconds: 0 } })
  })

  it('counts what waits for an export of all spiders', async () => {
    const out = join(dir, 'all.jsonl')
    const exported = await shoal('export', '--out', out, '--incremental', 'everything')
    expect(exported).toMatchObject({ error: null, exit: 0 })
    await store('g', 'h')
    const lines = (await shoal('outlets', 'list', '--json')).out.trim().split('\n')
    const listed = lines.map((line) => JSON.parse(line) as { name: string; lag: unknown })
    expect(listed.find(({ name }) => name === 'export/everything')).toMatchObject({ lag: { records: 2 } })
  })

  it('tests sinks without sending them a record', async () => {
    expect(await shoal('outlets', 'test', file, 'webhook')).toMatchObject({
      out: expect.stringMatching(/^books\/webhook: ok, http:\/\/127.0.0.1:\d+, not signed\n$/),
      exit: 0,
    })
    expect(posted).toBe(0)
    const away = await shoal('outlets', 'test', file, 'list', '--json')
    expect(away).toMatchObject({
      error: expect.stringMatching(/^outlet_down: outlet books\/list: .*127.0.0.1:1/),
      exit: 4,
    })
    expect(JSON.parse(away.out)).toMatchObject({ outlet: 'books/list', kind: 'down' })
  })

  it.each([
    [['reset', 'books', 'lst', '--to', 'end'], 5, 'not_found: there is no outlet books/lst'],
    [['reset', 'books', 'webhook', '--to', 'nowhere'], 2, 'usage: '],
    [['reset', 'books', 'webhook'], 2, 'usage: '],
    [['run', file, 'lst'], 5, 'not_found: there is no outlet books/lst'],
    [['run', 'nobody'], 3, 'spider_missing: '],
    [['run', file], 3, 'outlet_secret: outlet books/signed: the environment variable NOT_SET_ANYWHERE is not set'],
    [['test', file, 'signed'], 3, 'outlet_secret: '],
    [['lst'], 2, 'usage: '],
  ])('tells what is wrong with %j', async (args, exit, error) => {
    expect(await shoal('outlets', ...args)).toMatchObject({ exit, error: expect.stringContaining(error) })
  })
})
