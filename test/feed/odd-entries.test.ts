import { describe, expect, it } from 'vitest'
import { entryReader } from '../../src/coordinator/entries.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { ENTRIES } from './odd-entries.js'

const read = entryReader(
  spiderFromDefinition(
    defineSpider({ name: 's', start: ['https://a.example/'], routes: { page: { match: '**' } }, feed: true }),
  ),
)

describe('an entry with', () => {
  it.each(ENTRIES)('%s', (_name, text, expected) => {
    const { links, refused } = read(text)
    if (expected instanceof RegExp) {
      expect(refused.map(({ reason }) => reason)).toEqual([expect.stringMatching(expected)])
      expect(refused[0]?.reason.length).toBeLessThan(300)
      return
    }
    expect(refused).toEqual([])
    expect(links).toHaveLength(1)
    // Through JSON, as the queue stores it.
    const stored = JSON.parse(JSON.stringify({ data: links[0]?.link.data })) as unknown
    expect(JSON.stringify(stored)).toBe(JSON.stringify({ data: expected.data }))
  })
})
