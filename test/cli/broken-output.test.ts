import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { batch, record } from '../contract/record-store-contract.js'
import { BIN, tempDir } from '../support/cli.js'
import { seedDatabase } from './seeded-database.js'

vi.setConfig({ testTimeout: 60_000 })

const dir = tempDir('broken-output')
/** An escape sequence in C1 controls, a title that reads backwards, and one nobody sees. */
const NASTY = { title: '\u009b2Jgone', shop: 'a\u202egnp.exe', note: 'x\u200b\u2066y' }
const UNSEEN = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/

beforeAll(async () => {
  mkdirSync(`${dir.path}/.shoal`)
  await seedDatabase(`${dir.path}/.shoal/shoal.db`)
  const address = `sqlite:${dir.path}/.shoal/shoal.db`
  const backends = await openBackends({ queue: address, store: address })
  await backends.store.records.write(
    batch({ records: [record({ spider: 'shop', kind: 'nasty', key: 'n1', data: NASTY })] }),
  )
  await backends.close()
})
afterAll(() => dir.remove())

function inShell(line: string): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], {
    cwd: dir.path,
    encoding: 'utf8',
    env: { ...process.env, NODE: process.execPath, BIN, TERM: 'xterm' },
  })
  return { code: status, out: stdout, err: stderr }
}

describe('standard output on a full disk', () => {
  it.each(['--help', 'status', 'status --json', 'records list', 'export --format csv'])(
    'ends %s with exit 4 and says why',
    (command) => {
      const { code, err } = inShell(`"$NODE" "$BIN" ${command} > /dev/full`)
      expect(err).toMatch(/out_unwritable.*ENOSPC/s)
      expect(code).toBe(4)
    },
  )

  it('is no failure when the reader of a pipe has seen enough', () => {
    expect(inShell('"$NODE" "$BIN" --help | head -1')).toMatchObject({ code: 0, err: '' })
    expect(inShell('"$NODE" "$BIN" export | true')).toMatchObject({ code: 0, err: '' })
  })

  it('does not hide the exit code of a command whose messages cannot be written', () => {
    expect(inShell('"$NODE" "$BIN" nonsense 2> /dev/full').code).toBe(2)
  })
})

describe('text that a terminal would obey', () => {
  it('is escaped in --json and JSON Lines, and still the same text for a parser', () => {
    for (const command of ['records list --json --kind nasty', 'export --kind nasty']) {
      const { out } = inShell(`"$NODE" "$BIN" ${command}`)
      expect(out).not.toMatch(UNSEEN)
      expect(out).toContain('\\u009b2Jgone')
    }
  })

  it('is not printed by a CSV export to a terminal, and is kept in a file', () => {
    const command = '"$NODE" "$BIN" export --kind nasty --format csv'
    expect(inShell(`${command} | cat`).out).toContain(NASTY.shop)
    const shown = inShell(`script -qec '${command}' /dev/null`)
    expect(shown.out).toContain('gnp.exe')
    expect(shown.out).not.toMatch(UNSEEN)
  })
})

describe('a low limit of open files', () => {
  it.each([
    ['status', 32, 128],
    ['status', 100, 128],
    ['run spider.ts', 200, 256],
  ])('%s with %i ends with exit 4, both numbers and the next step', (command, limit, needed) => {
    const { code, err } = inShell(`ulimit -n ${limit}; "$NODE" "$BIN" ${command}`)
    expect(err).toMatch(new RegExp(`no_sockets: this process may have ${limit} files.* at least ${needed}`))
    expect(err).toContain('ulimit -n 4096')
    expect(code).toBe(4)
  })
})
