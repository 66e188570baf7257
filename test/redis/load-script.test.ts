import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Operation, scriptOf } from '../../src/frontier/redis/scripts.js'
import { scriptLoader } from '../../src/redis/load-script.js'
import { parseLua, slimScript } from '../../src/redis/slim-script.js'

const OPERATIONS = readdirSync(new URL('../../src/frontier/redis/lua', import.meta.url))
  .filter((file) => file.endsWith('.lua'))
  .map((file) => file.replace('.lua', '') as Operation)

describe('a script', () => {
  it('has numbers, texts and lists of TypeScript in place of their names', () => {
    const load = scriptLoader({ GOOD: -1, NEUTRAL: 'a "b"', BROKEN: ['x', 'y'] })
    const { source } = load('report', ['proxy/redis/lua/report'])
    expect(source).toContain('verdict == (-1) then')
    expect(source).toContain('verdict == "a \\"b\\"" then')
    expect(source).toContain('verdict == { "x", "y" } then')
  })

  it.each(OPERATIONS)('of the queue names no constant that nobody defines: %s', (operation) => {
    const code = scriptOf(operation)
      .source.replace(/--.*$/gm, '')
      .replace(/'[^'\n]*'|"(?:[^"\\\n]|\\.)*"/g, '')
    const declared = [...code.matchAll(/\blocal ([\w, ]+)/g)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    )
    const named = new Set(code.match(/\b[A-Z][A-Z0-9_]+\b/g))
    expect([...named].filter((name) => !declared.includes(name) && name !== 'KEYS' && name !== 'ARGV')).toEqual([])
  })
})

describe('a slim script', () => {
  const slim = (...lines: string[]) => slimScript([parseLua(lines.join('\n'))]).split('\n')

  it('has literals in place of its constants, but not in texts, fields and comments', () => {
    expect(
      slim(
        "local DONE, FORMAT = 4, '>d' -- DONE",
        "return { lane[DONE], h.DONE, 'DONE -- FORMAT', pack(FORMAT, 1) } -- DONE",
      ),
    ).toEqual(['', "return { lane[4], h.DONE, 'DONE -- FORMAT', pack('>d', 1) }"])
  })

  it('has no function that nothing refers to, nor what only such a function needed', () => {
    expect(
      slim(
        'local call, sub = redis.call, string.sub',
        'local function inner(x)',
        '  return sub(x, 1)',
        'end',
        'local function outer(x) return inner(x) end',
        'local function again(n)',
        '  return again(n - 1)',
        'end',
        "return call('PING')",
      ),
    ).toEqual(['local call = redis.call', '', '', '', '', '', '', '', "return call('PING')"])
  })

  it('keeps what has an effect, and what is not one value for each name', () => {
    const lines = ["local kept = call('INCR', 'x')", 'local a, b = pair()', 'local later', 'return 1']
    expect(slim('local call = redis.call', ...lines)).toEqual(['local call = redis.call', ...lines])
  })

  it('keeps the numbers of its lines', () => {
    const source = ['-- One.', 'local ONE = 1', '', 'local function gone()', '  return 2', 'end', 'return boom(ONE)']
    expect(slim(...source)).toEqual(['', '', '', '', '', '', 'return boom(1)'])
  })
})
