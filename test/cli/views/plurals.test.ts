import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { noun, plural } from '../../../src/cli/terminal/format.js'

const root = new URL('../../../', import.meta.url).pathname
const NOUNS =
  'pages|records|links|hosts|workers|URLs|crawls|errors|requests|rows|files|fields|values|sites|proxies|entries|kinds|retries|responses|items|alerts|dead letters'
/** A number of things, printed with the plural whatever the number is. */
const ALWAYS_PLURAL = new RegExp(`\\$\\{(?:count|figure|shortCount)\\([^{}]*\\)\\}\\s+(?:${NOUNS})\\b`, 'g')
/** Limits that are never 1, and numbers that a condition before them makes larger than 1. */
const NEVER_ONE = [
  // Both are asked for only if there are several.
  'count(closed.length)} hosts are affected',
  'count(stalled)} hosts are affected',
  'count(proxies)} proxies of the pool',
  'count(links)} links are waiting',
]

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
}

describe('plurals', () => {
  it('agree with their number, wherever a number is printed', () => {
    const found = ['src/cli', 'src/observe', 'src/run', 'dashboard/src']
      .flatMap(sources)
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(ALWAYS_PLURAL)]
          .map(([text]) => `${file}: ${text}`)
          .filter((text) => !NEVER_ONE.some((known) => text.includes(known.split(' ').slice(0, 2).join(' ')))),
      )
    expect(found).toEqual([])
  })

  it.each([
    [0, 'no pages', 'pages'],
    [1, '1 page', 'page'],
    [2, '2 pages', 'pages'],
    [1_000, '1,000 pages', 'pages'],
  ])('%i', (value, text, word) => {
    expect([plural(value, 'page'), noun(value, 'page')]).toEqual([text, word])
  })
})
