import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openDatabase } from '../../src/embedded/open-database.js'
import { BIN, tempDir } from '../support/cli.js'
import { seedDatabase, url } from './seeded-database.js'

/** Files and folders that a command may read and not write: it does what it can, and says what it cannot. */
vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('read-only')
const folder = join(dir.path, '.shoal')
const file = join(folder, 'shoal.db')
const seeded = join(dir.path, 'seeded.db')

/** Permissions do not stop root, whom many CI systems run tests as; they do stop a root that has no capabilities. */
const AS_ANYBODY = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : ['env']

function shoal(args: readonly string[], env: Record<string, string | undefined> = {}) {
  const [program = '', ...before] = AS_ANYBODY
  const { status, stdout, stderr } = spawnSync(program, [...before, process.execPath, BIN, ...args], {
    cwd: dir.path,
    encoding: 'utf8',
    env: { ...process.env, SHOAL_QUEUE: undefined, SHOAL_STORE: undefined, SHOAL_PAGES: undefined, ...env },
    timeout: 30_000,
  })
  return { code: status, out: stdout, err: stderr }
}

let site: Server
beforeAll(async () => {
  // Never asked: what cannot be stored is not fetched.
  site = createServer((_request, response) => response.writeHead(500).end())
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  await seedDatabase(seeded)
  // Nobody works on the crawl: if it were not paused, `status` would call it stalled.
  expect(shoal(['pause', '--queue', `sqlite:${seeded}`])).toMatchObject({ code: 0 })
  const db = openDatabase(seeded)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const { port } = site.address() as AddressInfo
  writeFileSync(
    join(dir.path, 'site.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'site', start: ['http://127.0.0.1:${port}/'], allowPrivate: ['127.0.0.1:${port}'], routes: { page: { match: '/**', handler() {} } } })`,
  )
})
afterAll(() => {
  site.close()
  dir.remove()
})
beforeEach(() => {
  mkdirSync(folder)
  copyFileSync(seeded, file)
})
afterEach(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true })
})

const READERS = [['status'], ['records', 'list'], ['export'], ['explain', url('done')], ['dead', 'list'], ['audit']]

function readersWork(): void {
  for (const args of READERS) expect(shoal(args), args.join(' ')).toMatchObject({ code: 0, err: '' })
  expect(shoal(['export']).out).toContain('"key":"p1"')
}

function writersFail(): void {
  for (const args of [['run', 'site.ts'], ['doctor']]) {
    const { code, out, err } = shoal(args)
    expect(code, err).toBe(4)
    expect(out + err).toMatch(
      /db_unwritable: \S+shoal.db: (is read-only|cannot be opened or written)\n[\s\S]*→ .*permissions/,
    )
  }
}

describe('a database that cannot be written', () => {
  it.each([
    ['because of its own permissions', () => chmodSync(file, 0o444)],
    ['because of those of its folder', () => chmodSync(folder, 0o555)],
  ])('%s is read, and nothing is left next to it', (_why, close) => {
    close()
    const before = readdirSync(folder)
    readersWork()
    writersFail()
    expect(readdirSync(folder)).toEqual(before)
    chmodSync(folder, 0o755)
    chmodSync(file, 0o644)
    expect(shoal(['resume'])).toMatchObject({ code: 0 })
  })

  it('is read together with the log of the process that writes to it', () => {
    const writer = new DatabaseSync(file)
    writer.exec("UPDATE records SET data = json_object('name', 'only in the log')")
    chmodSync(folder, 0o555)
    chmodSync(file, 0o444)
    expect(shoal(['export']).out).toContain('only in the log')
    readersWork()
    chmodSync(folder, 0o755)
    writer.close()
  })
})

describe('an export', () => {
  const out = join(dir.path, 'out')
  const at = (name: string) => join(out, name)
  beforeEach(() => mkdirSync(out))
  afterEach(() => {
    chmodSync(out, 0o755)
    rmSync(out, { recursive: true })
  })

  it('into a pipe is read from the pipe, which stays a pipe', () => {
    spawnSync('mkfifo', [at('pipe')])
    const reader = spawn('cat', [at('pipe')])
    const read = text(reader.stdout)
    expect(shoal(['export', '--format', 'csv', '--out', at('pipe')])).toMatchObject({ code: 0 })
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true)
    return expect(read).resolves.toContain('=Lamp')
  })

  // Through a link, so that a mistake harms the link and not the device of this machine: a rename turned /dev/null into a file.
  it.each(['csv', 'warc'])('of %s to a device leaves the device alone', (format) => {
    symlinkSync('/dev/null', at('null'))
    expect(shoal(['export', '--format', format, '--out', at('null')])).toMatchObject({ code: 0 })
    expect(readlinkSync(at('null'))).toBe('/dev/null')
  })

  it('through a link replaces the file and keeps the link', () => {
    writeFileSync(at('real.csv'), 'old')
    symlinkSync('real.csv', at('link.csv'))
    expect(shoal(['export', '--out', at('link.csv')])).toMatchObject({ code: 0 })
    expect(readlinkSync(at('link.csv'))).toBe('real.csv')
    expect(readFileSync(at('real.csv'), 'utf8')).toContain('=Lamp')
  })

  it('to a file that is read-only, a folder, or into a read-only folder fails and changes nothing', () => {
    writeFileSync(at('kept.csv'), 'old')
    chmodSync(at('kept.csv'), 0o444)
    mkdirSync(at('folder.csv'))
    chmodSync(out, 0o555)
    for (const name of ['kept.csv', 'folder.csv', 'new/new.csv', 'kept.csv/new.csv']) {
      const { code, err } = shoal(['export', '--out', at(name)])
      expect(err).toContain(`error out_unwritable: ${at(name)}: cannot be written`)
      expect(code).toBe(4)
    }
    chmodSync(out, 0o755)
    expect(shoal(['export', '--out', at('kept.csv')]).code).toBe(4)
    expect(readFileSync(at('kept.csv'), 'utf8')).toBe('old')
    expect(readdirSync(out)).toEqual(['folder.csv', 'kept.csv'])
  })
})

describe('surroundings that cannot be written', () => {
  it('no home and no folder for temporary files do not matter', () => {
    expect(shoal(['status'], { HOME: undefined, TMPDIR: '/nonexistent' })).toMatchObject({ code: 0, err: '' })
  })

  it('a read-only project folder without a database is reported before anything is fetched', () => {
    rmSync(folder, { recursive: true })
    chmodSync(dir.path, 0o555)
    const run = shoal(['run', 'site.ts'])
    const status = shoal(['status'])
    const init = shoal(['init', 'new'])
    chmodSync(dir.path, 0o755)
    mkdirSync(folder)
    expect(run).toMatchObject({ code: 4, err: expect.stringContaining('error db_unwritable: ') })
    expect(status).toMatchObject({ code: 5, err: expect.stringContaining('error not_found: ') })
    expect(init).toMatchObject({ code: 4, err: expect.stringContaining('error out_unwritable: ') })
  })
})
