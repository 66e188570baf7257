import { legacyHookDecode } from '@exodus/bytes/encoding.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeQuery } from '../../src/url/encode-query.js'
import { runs } from '../support/longer.js'
import { LINKS_IN_ENCODINGS } from './links-in-encodings.js'

const encodings = LINKS_IN_ENCODINGS.map(({ encoding }) => encoding)
const resolved = (href: string, encoding: string) =>
  new URL(encodeQuery(href, { encoding }), 'https://a.example/b').href

describe('encodeQuery', () => {
  it.each(LINKS_IN_ENCODINGS)('gives the href that Chromium gives: $encoding', ({ encoding, text, query }) => {
    const utf8 = encodeURI(text)
    expect(resolved(`/p/${text}?q=${text}#${text}`, encoding)).toBe(`https://a.example/p/${utf8}?q=${query}#${utf8}`)
  })

  it.each<[string, string, string]>([
    ['spaces and controls around it', ' \t?a\n=é\t \n', 'https://a.example/b?a=%E9'],
    ['line breaks inside', '?\né\n\té', 'https://a.example/b?%E9%E9'],
    ['escapes stay as they are', '?%41%e9=é%', 'https://a.example/b?%41%e9=%E9%'],
    ['the query ends at the fragment', '?é#é?é', 'https://a.example/b?%E9#%C3%A9?%C3%A9'],
    ['no query but in the fragment', '#é?é', 'https://a.example/b#%C3%A9?%C3%A9'],
    ['the first question mark counts', '?é?é', 'https://a.example/b?%E9?%E9'],
    ['the set of the standard', '?\'"<> é', 'https://a.example/b?%27%22%3C%3E%20%E9'],
    ['another scheme', 'mailto:x?s=é', 'mailto:x?s=%C3%A9'],
    ['web sockets', 'wss://b.example/?é', 'wss://b.example/?%C3%A9'],
    ['another site', 'HTTPS://b.example/?é', 'https://b.example/?%E9'],
    ['what the encoding lacks', '?ж😀', 'https://a.example/b?%26%231078%3B%26%23128512%3B'],
    ['half a character', '?\ud800é', 'https://a.example/b?%26%2365533%3B%E9'],
  ])('%s', (_, href, expected) => {
    expect(resolved(href, 'windows-1252')).toBe(expected)
  })

  it.each(['UTF-8', 'UTF-16LE', 'UTF-16BE', 'replacement'])('leaves %s to the parser', (encoding) => {
    expect(encodeQuery(' ?é\n', { encoding })).toBe(' ?é\n')
  })

  it('does not read the encoding of a page for a link that does not depend on it', () => {
    const page = {
      get encoding(): string {
        throw new Error('the page would have to be decoded')
      },
    }
    expect(encodeQuery('/a?b=c#d', page)).toBe('/a?b=c#d')
  })

  it('takes linear time', () => {
    const before = process.cpuUsage()
    for (const href of [`${' '.repeat(500_000)}é?`, `?é${' '.repeat(500_000)}x`, `?é${'\t'.repeat(500_000)}`]) {
      encodeQuery(href, { encoding: 'windows-1252' })
    }
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(1000)
  })

  it('is a URL that means the same wherever it is parsed, and that the server can decode again', () => {
    fc.assert(
      fc.property(fc.constantFrom(...encodings), fc.string({ unit: 'grapheme' }), (encoding, text) => {
        const href = encodeQuery(`?${text}`, { encoding })
        expect(encodeQuery(href, { encoding: 'UTF-8' })).toBe(href)
        const letters = text.replace(/[\0-\x7f]/g, '')
        const { search } = new URL(encodeQuery(`?${letters}`, { encoding }), 'https://a.example/')
        const bytes = Buffer.from(
          search.slice(1).replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
          'latin1',
        )
        const decoded = legacyHookDecode(bytes, encoding.toLowerCase()).replace(/&#(\d+);/g, (_, code) =>
          String.fromCodePoint(Number(code)),
        )
        // ISO-2022-JP has no half-width letters: the standard writes the full-width ones.
        if (encoding !== 'ISO-2022-JP') expect(decoded).toBe(letters)
      }),
      { numRuns: runs(500) },
    )
  })
})
