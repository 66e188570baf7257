import { describe, expect, it } from 'vitest'
import { defineSpider, type MergeDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

function kind(merge: unknown) {
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'shops',
      start: ['https://a.example/'],
      records: { product: { merge: merge as MergeDefinition, history: true } },
      routes: { page: { match: '**' } },
    }),
  )
  const product = spider.records.get('product')
  if (product?.merge === undefined || product.merge === null) throw new Error('it has one')
  return product.merge
}

describe('identity of a record', () => {
  const data = {
    gtin: ' 4006381 333931 ',
    brand: 'ACME',
    model: 'x\t200',
    year: 2026,
    empty: '',
    none: null,
    list: ['a'],
  }

  it.each([
    ['gtin', '4006381 333931'],
    ['year', '2026'],
    [['brand', 'model'], '["ACME","x 200"]'],
    [['brand'], 'ACME'],
    [['brand', 'empty'], null],
    ['none', null],
    ['list', null],
    ['missing', null],
    ['constructor', null],
    [() => ' Made by hand ', 'Made by hand'],
    [() => 42, '42'],
    [() => '', null],
    [() => null, null],
    [() => undefined, null],
  ])('by %o is %o', (identity, expected) => {
    expect(kind({ identity }).identity(data)).toBe(expected)
  })

  it('ignores case when asked to', () => {
    const merge = kind({ identity: ['brand', 'model'], ignoreCase: true })
    expect(merge.identity(data)).toBe('["acme","x 200"]')
    expect(merge.spelling(' ACME ')).toBe('acme')
    expect(kind({ identity: 'brand' }).spelling(' ACME ')).toBe('ACME')
  })

  it('is the same for composed and decomposed characters', () => {
    const { identity } = kind({ identity: 'name' })
    expect(identity({ name: 'Größe' })).toBe(identity({ name: 'Größe'.normalize('NFD') }))
  })

  it('has none for what is no object', () => {
    expect(kind({ identity: 'gtin' }).identity(['x'])).toBeNull()
    expect(kind({ identity: 'gtin' }).identity('x')).toBeNull()
  })

  it('fails as a handler does when the function of the user fails', () => {
    const failing = () => {
      throw new TypeError('no gtin')
    }
    const failure = (identity: unknown) => {
      try {
        kind({ identity }).identity(data)
      } catch (error) {
        return error
      }
      return null
    }
    expect(failure(failing)).toMatchObject({
      code: 'handler_error',
      place: expect.stringContaining('kind-merge.test.ts:'),
      message: expect.stringMatching(/:\d+: records\.product\.merge\.identity: TypeError: no gtin$/),
    })
    expect(failure(() => ['a'])).toMatchObject({
      code: 'handler_error',
      message: 'records.product.merge.identity: must return a string, a number or null, not ["a"]',
    })
  })
})

describe('rules of a merge', () => {
  it('are complete', () => {
    const { rules } = kind({ identity: 'gtin', prefer: { title: 'longest' }, default: { sites: ['a.example'] } })
    expect(rules).toEqual({ prefer: new Map([['title', 'longest']]), otherwise: { sites: ['a.example'] } })
    expect(kind({ identity: 'gtin' }).rules.otherwise).toBe('newest')
  })

  it.each([
    [{}, 'records.product.merge.identity: expected a field, a list of fields or a function'],
    [{ identity: [] }, 'records.product.merge.identity: needs at least one field'],
    [{ identity: 5 }, 'records.product.merge.identity: expected a field, a list of fields or a function'],
    [
      { identity: 'x', prefer: { price: 'cheapest' } },
      "records.product.merge.prefer.price: expected 'newest', 'longest' or { sites: [...] }",
    ],
    [
      { identity: 'x', prefer: { price: { sites: [] } } },
      'records.product.merge.prefer.price.sites: needs at least one site',
    ],
    [
      { identity: 'x', prefer: { price: { sites: ['a.example', 'www.a.example'] } } },
      "records.product.merge.prefer.price.sites[1]: the site of 'www.a.example' is 'a.example'",
    ],
    [
      { identity: 'x', default: { sites: ['https://a.example/'] } },
      "records.product.merge.default.sites[0]: 'https://a.example/' is not a domain",
    ],
    [{ identity: 'x', preffer: {} }, "records.product.merge: unknown option 'preffer', did you mean 'prefer'?"],
    [
      { identity: 'x', default: 'oldest' },
      "records.product.merge.default: expected 'newest', 'longest' or { sites: [...] }",
    ],
  ])('refuse %o', (merge, message) => {
    let refused: unknown
    try {
      kind(merge)
    } catch (error) {
      refused = error
    }
    expect(refused).toMatchObject({ code: 'spider_invalid', message })
  })
})
