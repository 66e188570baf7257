import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

/** The database file is deleted or replaced in the middle of a run: the run ends with 4, says so, and saves what it has. */
vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('lost-database')
const PAGES = 60
let site: Server
let served = 0
/** Pages after this many wait until the test has done its harm. */
let openGate: () => void = () => {}
let gate: Promise<void> = Promise.resolve()
const SERVED_BEFORE = 20

beforeAll(async () => {
  site = createServer(async (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    if (++served > SERVED_BEFORE) await gate
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>${request.url}</title>`)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  const start = Array.from({ length: PAGES }, (_, index) => `'http://127.0.0.1:${port}/${index}'`)
  writeFileSync(
    join(dir.path, 'site.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'site', start: [${start}], allowPrivate: ['127.0.0.1:${port}'], pace: { delay: 0, concurrency: 4 }, records: { page: {} },
       routes: { page: { match: '/**', handler(page, out) { out.record('page', page.url, { url: page.url }) } } } })`,
  )
})
afterAll(() => {
  site.closeAllConnections()
  site.close()
  dir.remove()
})

/** Runs the crawl until a part of its pages is stored, does the harm, and lets it continue. */
async function runAndHarm(name: string, harm: (file: string) => void, ...flags: string[]) {
  served = 0
  gate = new Promise((resolve) => {
    openGate = resolve
  })
  const folder = join(dir.path, name)
  mkdirSync(folder)
  const file = join(folder, 'shoal.db')
  const { result } = startCli(['run', 'site.ts', '--queue', `sqlite:${file}`, ...flags], { cwd: dir.path })
  await vi.waitFor(() => expect(storedRecords(file)).toBeGreaterThan(5), { timeout: 15_000, interval: 100 })
  harm(file)
  openGate()
  return { ...(await result), folder, file }
}

function storedRecords(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true, returnArrays: true })
  try {
    return Number(db.prepare('SELECT count(*) FROM records').get()[0])
  } finally {
    db.close()
  }
}

describe('a database that is not at its path any more in the middle of a run', () => {
  it.each([
    ['deleted', (file: string) => rmSync(file), []],
    ['replaced', (file: string) => renameSync(otherDatabase(file), file), ['--workers', '2']],
  ] as const)('and was %s ends it with 4, and its content is saved', async (change, harm, flags) => {
    const { code, signal, stderr, folder } = await runAndHarm(change, harm, ...flags)
    expect({ code, signal }, stderr).toEqual({ code: 4, signal: null })
    expect(stderr).toMatch(
      new RegExp(
        `error db_lost: \\S+ was ${change} while it was in use; its content \\(\\d+ pages? done, \\d+ records?\\) is saved in \\S+\\n {2}→ `,
      ),
    )
    const [rescued = ''] = readdirSync(folder).filter((entry) => entry.startsWith('shoal-rescued-'))
    const queue = `sqlite:${join(folder, rescued)}`
    const resumed = await runCli(['run', 'site.ts', '--queue', queue, '--json'], { cwd: dir.path })
    expect(resumed.code, resumed.stderr).toBe(0)
    expect(lastJson(resumed.stdout)).toMatchObject({ state: 'finished', pages: PAGES, records: PAGES })
  })
})

function otherDatabase(file: string): string {
  const other = `${file}.other`
  new DatabaseSync(other).exec('CREATE TABLE notes (text)')
  return other
}
