import { describe, expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { widthOf } from '../../../src/cli/terminal/width.js'
import { deadTable } from '../../../src/cli/views/dead-view.js'
import { deadLines } from '../../../src/cli/views/summary-view.js'
import type { ErrorCode } from '../../../src/errors.js'
import type { LinkInfo } from '../../../src/frontier/frontier.js'
import { deadLetters, whereItHappened } from '../../../src/observe/dead-letters.js'

const style = styleFor({ isTTY: false }, {})
const NOW = 1_000_000

function dead(path: string, message: string, code: ErrorCode = 'handler_error'): LinkInfo {
  return {
    ...{ cursor: path, fp: path, url: `https://books.example/${path}`, host: 'books.example', route: 'book' },
    ...{ state: 'dead', depth: 1, priority: 0, attempts: 4, throttles: 0, reclaims: 0, addedAt: 0, dueAt: null },
    ...{ worker: null, leasedAt: null, endedAt: NOW - 5_000, failures: [{ code, message, at: NOW - 5_000 }] },
  }
}

describe('a list of dead letters', () => {
  const long = `books.ts:12:9: TypeError: ${'Cannot read properties of undefined '.repeat(9)}(reading 'trim')`
  const links = [dead('a', long), dead('b'.repeat(200), 'books.ts:14:3: Error: 📚 no \x1b[31mprice')]

  it.each([80, 160, 40])('shows where and what below each, and is no wider than %i columns', (width) => {
    const lines = deadTable(links, NOW, { width, style })
    expect(lines).toHaveLength(5)
    expect(lines[2]).toMatch(/^ {2}books\.ts:12:9: TypeError: .*…$/)
    expect(lines[4]).toContain('books.ts:14:3: Error: 📚 no  [31mpri')
    if (width >= 80) for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    for (const line of [lines[2], lines[4]]) expect(widthOf(line ?? '')).toBeLessThanOrEqual(width)
  })

  it('counts the visits that ended with their worker', () => {
    const poison = { ...dead('p', 'its worker died 4 times', 'poison'), attempts: 0, reclaims: 4 }
    const [, line] = deadTable([poison], NOW, { width: Number.POSITIVE_INFINITY, style })
    expect(line).toMatch(/^poison +https:\/\/books\.example\/p +4 /)
  })

  it('is one line each in a pipe, with the whole message', () => {
    const lines = deadTable(links, NOW, { width: Number.POSITIVE_INFINITY, style })
    expect(lines).toHaveLength(3)
    expect(lines[1]?.endsWith(long)).toBe(true)
  })
})

describe('the dead letters of a crawl', () => {
  const all = [
    dead('a', 'books.ts:12:9: TypeError: no price on page a'),
    dead('b', 'books.ts:12:9: TypeError: no price on page b'),
    dead('c', 'lib/prices.ts:4:11: RangeError: 1e400'),
    dead('d', 'took longer than 30 s', 'timeout'),
  ]
  const frontier = {
    deadByError: async () => [
      { code: 'handler_error' as const, count: 3, sample: '' },
      { code: 'timeout' as const, count: 1, sample: '' },
    ],
    links: async ({ code }: { code?: string }) => all.filter(({ failures }) => failures[0]?.code === code),
  }

  it('are grouped by code, with one example of each place', async () => {
    const [errors, timeouts] = await deadLetters(frontier, 'c1')
    expect(errors).toMatchObject({ code: 'handler_error', count: 3 })
    expect(errors?.examples.map(({ url }) => new URL(url).pathname)).toEqual(['/a', '/c'])
    expect(timeouts?.examples).toEqual([{ message: 'took longer than 30 s', url: 'https://books.example/d' }])
  })

  it('are in the summary with code, message, place and URL', async () => {
    const lines = deadLines({ dead: 4, deadLetters: await deadLetters(frontier, 'c1') }, style)
    expect(lines).toEqual([
      '          4  dead letters: handler_error × 3, timeout × 1',
      '             handler_error: books.ts:12:9: TypeError: no price on page a',
      '               https://books.example/a',
      '             handler_error: lib/prices.ts:4:11: RangeError: 1e400',
      '               https://books.example/c',
      '             timeout: took longer than 30 s',
      '               https://books.example/d',
    ])
    expect(deadLines({ dead: 0, deadLetters: [] }, style)).toEqual([])
  })

  it.each([
    ['books.ts:12:9: TypeError: no', 'books.ts:12:9'],
    ['../shared/a.ts:1:1: no', '../shared/a.ts:1:1'],
    ['connect ECONNREFUSED 127.0.0.1:80: no', ''],
    ['the server answered 500', ''],
    [`${'a'.repeat(100_000)}:1:1: no`, ''],
  ])('%.40s is of the place %j', (message, place) => {
    expect(whereItHappened(message)).toBe(place)
  })
})
