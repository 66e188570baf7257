import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Operation, scriptOf } from '../../src/frontier/redis/scripts.js'
import { loadScript } from '../../src/redis/load-script.js'

const OPERATIONS = readdirSync(new URL('../../src/frontier/redis/lua', import.meta.url))
  .filter((file) => file.endsWith('.lua'))
  .map((file) => file.replace('.lua', '') as Operation)

describe('a script', () => {
  it('has numbers, texts and lists of TypeScript in place of their names', () => {
    const { source } = loadScript('report', ['proxy/redis/lua/report'], {
      GOOD: -1,
      NEUTRAL: 'a "b"',
      BROKEN: ['x', 'y'],
    })
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
