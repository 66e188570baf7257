import { describe, expect, it } from 'vitest'
import { parseEntry } from '../../src/feed/feed.js'

describe('an entry of a feed', () => {
  it.each([
    ['https://a.example/', { url: 'https://a.example/' }],
    ['  https://a.example/ \n', { url: 'https://a.example/' }],
    ['{"url":"https://a.example/"}', { url: 'https://a.example/' }],
    [
      '{"url":" https://a.example/ ","route":"page","priority":5,"data":{"a":[]},"again":true}',
      { url: 'https://a.example/', route: 'page', priority: 5, data: { a: [] }, again: true },
    ],
    ['{"url":"x","data":null,"again":false}', { url: 'x', data: null, again: false }],
  ])('%j is read', (text, fed) => {
    expect(parseEntry(text)).toEqual({ ok: true, fed })
  })

  it.each([
    ['', 'it is empty'],
    ['  \n', 'it is empty'],
    ['{"url":', 'it is not JSON'],
    ['{}', 'it has no url'],
    ['{"url":5}', 'it has no url'],
    ['{"url":"x","route":1}', 'route is not a text'],
    ['{"url":"x","priority":"high"}', 'priority is not a number'],
    ['{"url":"x","again":"yes"}', 'again is neither true nor false'],
    ['{"url":"x","prio":1}', 'it has an unknown key "prio"'],
    ['{"url":"x","__proto__":{"again":true}}', 'it has an unknown key "__proto__"'],
    [`{"url":"${'x'.repeat(300_000)}"}`, 'characters are more than'],
  ])('%.60j is refused', (text, reason) => {
    const parsed = parseEntry(text)
    expect(parsed.ok ? 'read' : parsed.reason).toContain(reason)
  })
})
