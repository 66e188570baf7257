import { execFileSync, fork, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ALONE, IN_PAIRS, LONG, NEEDS_PROCESSES } from './projects.js'

const FILES = readdirSync(fileURLToPath(new URL('.', import.meta.url)), { recursive: true, encoding: 'utf8' })
  .map((path) => join('test', path))
  .filter((path) => path.endsWith('.test.ts'))

/** The lists know `*` and `{a,b}`. Node's own globs are experimental, and took seconds here. */
function filesOf(patterns: readonly string[]): string[] {
  const sources = patterns.map((pattern) =>
    pattern
      .replaceAll('.', '\\.')
      .replaceAll('*', '[^/]*')
      .replace(/\{(.*?)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`),
  )
  const listed = new RegExp(`^(${sources.join('|')})$`)
  return FILES.filter((file) => listed.test(file))
}

describe('the lists of test files', () => {
  // A renamed file had left the list of those that run alone, and nobody noticed.
  it.each([...NEEDS_PROCESSES, ...IN_PAIRS, ...ALONE, ...LONG])('%s names a test file', (pattern) => {
    expect(filesOf([pattern])).not.toEqual([])
  })

  it('put every file in one project', () => {
    const [apart, needing] = [filesOf([...IN_PAIRS, ...ALONE]), filesOf(NEEDS_PROCESSES)]
    expect(apart.filter((file) => !needing.includes(file))).toEqual([])
    expect(filesOf(IN_PAIRS).filter((file) => filesOf(ALONE).includes(file))).toEqual([])
  })
})

describe('a quick test', () => {
  it.each([
    ['spawn', () => spawn('redis-server')],
    ['fork', () => fork('worker.js')],
    ['execFileSync', () => execFileSync('redis-server')],
  ])('cannot start a process with %s', (_, start) => {
    expect(start).toThrow(/^a quick test starts '.*': add the test file to NEEDS_PROCESSES in test\/projects\.ts/)
  })
})
