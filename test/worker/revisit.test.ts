import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { LastVisit } from '../../src/store/visits.js'
import type { Link } from '../../src/url/link.js'
import { packMemo, unpackMemo } from '../../src/worker/page-memo.js'
import { conditional, knownPage, readAs, validatorsOf } from '../../src/worker/revisit.js'

const LINK: Link = {
  ...{ url: 'https://a.example/', fp: '00000000000000aa', host: 'a.example', route: 'page', depth: 0, priority: 0 },
}
const CODE = { hash: 'c0de' }
const EMPTY = { links: [], records: [], rejected: [] }

function last(fields: Partial<LastVisit> = {}): LastVisit {
  const memo = packMemo(EMPTY, 10, null)
  if (memo === null) throw new Error('an empty page fits')
  return {
    ...{ fp: LINK.fp, at: 1, url: LINK.url, etag: 'W/"1"', lastModified: 'Sun, 06 Nov 1994 08:49:37 GMT' },
    ...{ bodyHash: '00', readAs: readAs(CODE, LINK), page: null, memo },
    ...fields,
  }
}

describe('validators', () => {
  const of = (headers: Record<string, string>) => validatorsOf({ headers })

  it('are kept as the server gave them, weak, strong or odd', () => {
    expect(of({ etag: 'W/"a b"', 'last-modified': 'whenever' })).toEqual({ etag: 'W/"a b"', lastModified: 'whenever' })
    expect(of({ etag: 'unquoted' }).etag).toBe('unquoted')
    expect(of({})).toEqual({ etag: null, lastModified: null })
  })

  it.each([['"a\r\nx: y"'], ['"a\0"'], [`"${'x'.repeat(1_000_000)}"`], [''], ['"\u00e9"'], ['"\ud83d\ude00"']])(
    'that could do harm are left out: %j',
    (value) => {
      expect(of({ etag: value, 'last-modified': value })).toEqual({ etag: null, lastModified: null })
    },
  )

  it('mean nothing when the answer depends on everything', () => {
    expect(of({ etag: '"1"', vary: '*' }).etag).toBeNull()
    expect(of({ etag: '"1"', vary: 'accept-encoding, cookie' }).etag).toBe('"1"')
    const rendered = { requests: 1, bytes: 1, screenshot: null }
    expect(validatorsOf({ headers: { etag: '"1"' }, rendered }).etag).toBeNull()
  })
})

describe('a request on condition', () => {
  const known = (fields: Partial<LastVisit> = {}) => knownPage(last(fields), CODE, LINK)
  const agent = { 'user-agent': 'x' }

  it('sends both validators with the other headers', () => {
    expect(conditional(known(), LINK.url, {}, agent)).toEqual({
      ...agent,
      'if-none-match': 'W/"1"',
      'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT',
    })
    expect(conditional(known({ etag: null }), LINK.url, {}, agent)).not.toHaveProperty('if-none-match')
  })

  it('is only for the URL that gave the validators, by GET, and unless the spider sets such headers itself', () => {
    expect(conditional(known(), 'https://b.example/', {}, agent)).toBeNull()
    expect(conditional(known({ url: 'https://b.example/' }), LINK.url, {}, agent)).toBeNull()
    expect(conditional(known(), LINK.url, { method: 'POST' }, agent)).toBeNull()
    expect(conditional(known(), LINK.url, {}, { 'if-none-match': '"mine"' })).toBeNull()
    expect(conditional(known({ etag: null, lastModified: null }), LINK.url, {}, agent)).toBeNull()
    expect(conditional(null, LINK.url, {}, agent)).toBeNull()
  })

  it('is not made for another reader: new code, another route, other data', () => {
    expect(knownPage(last(), { hash: 'other' }, LINK)).toBeNull()
    expect(knownPage(last(), CODE, { ...LINK, route: 'other' })).toBeNull()
    expect(knownPage(last(), CODE, { ...LINK, data: { price: 2 } })).toBeNull()
    expect(knownPage(last(), CODE, { ...LINK, depth: 3, priority: 9 })).not.toBeNull()
  })

  it('is not made when another version has packed the page', () => {
    expect(knownPage(last({ memo: new Uint8Array([9, 1]) }), CODE, LINK)).toBeNull()
  })
})

describe('the memo of a page', () => {
  it('comes back as it was, short or long, each link once', () => {
    const links = Array.from({ length: 300 }, (_, i) => ({ href: `/p/${i}?a=é`, route: 'r', data: { i }, delayMs: 5 }))
    const records = [{ kind: 'k', key: 'ключ', data: { much: 'x'.repeat(1000) } }]
    for (const many of [links.slice(0, 1), links]) {
      const packed = packMemo({ links: [...many, ...many], records, rejected: [] }, 5000, { etag: '1' })
      expect(unpackMemo(packed ?? new Uint8Array())).toEqual({
        links: many,
        records: [['k', 'ключ']],
        headers: { etag: '1' },
      })
      expect(packed?.length).toBeLessThan(4_000)
    }
  })

  it('is none when there is too much to keep', () => {
    // Digests do not compress.
    const noise = (seed: string) => createHash('sha512').update(seed).digest('hex')
    const links = Array.from({ length: 6000 }, (_, i) => ({ href: noise(`${i}`) }))
    expect(packMemo({ ...EMPTY, links }, 6000, null)).toBeNull()
    expect(packMemo({ ...EMPTY, links }, 100, null)).not.toBeNull()
  })
})
