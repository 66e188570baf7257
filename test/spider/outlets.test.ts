import { describe, expect, it } from 'vitest'
import { defineSpider, type OutletDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

function outlets(...given: OutletDefinition[]) {
  const definition = defineSpider({
    ...{ name: 'books', start: ['https://books.example/'], allowPrivate: ['hooks.local:8080'] },
    ...{ records: { book: {} }, routes: { page: { match: '**' } }, outlets: given },
  })
  return spiderFromDefinition(definition as Parameters<typeof spiderFromDefinition>[0]).outlets
}

const refused = (given: object) => {
  try {
    outlets(given as OutletDefinition)
  } catch (error) {
    return `${(error as { code: string }).code} ${(error as Error).message}`
  }
  return 'accepted'
}

describe('outlets of a spider', () => {
  it('have defaults for all but what they are', () => {
    const [list, stream, hash, webhook] = outlets(
      { redis: 'list' },
      { redis: 'stream', maxLength: 7 },
      { redis: 'hash', name: 'by-url', kinds: ['book'] },
      { webhook: 'https://hooks.example/x', timeout: '5s' },
    )
    const basics = { spider: 'books', kinds: null, batch: 100 }
    const redis = { address: null, serialize: expect.any(Function), field: expect.any(Function) }
    expect(list).toEqual({
      ...basics,
      ...redis,
      name: 'books/list',
      to: 'list',
      key: 'shoal:books:items',
      maxLength: 100_000,
    })
    expect(stream).toMatchObject({ name: 'books/stream', key: 'shoal:books:stream', maxLength: 7 })
    expect(hash).toMatchObject({ name: 'books/by-url', kinds: ['book'], key: 'shoal:books:records', maxLength: null })
    expect(webhook).toEqual({
      ...{ ...basics, name: 'books/webhook', to: 'webhook', url: 'https://hooks.example/x' },
      ...{ secretEnv: null, timeoutMs: 5_000, allowPrivate: ['hooks.local:8080'] },
    })
  })

  it.each([
    [{}, 'spider_invalid outlets[0]: set either redis or webhook'],
    [{ redis: 'list', webhook: 'https://x.example/' }, 'spider_invalid outlets[0]: set either redis or webhook'],
    [{ redis: 'set' }, 'spider_invalid outlets[0].redis: '],
    [
      { redis: 'list', maxLenght: 5 },
      "spider_invalid outlets[0]: unknown option 'maxLenght', did you mean 'maxLength'?",
    ],
    [{ redis: 'list', address: 'items.example' }, "spider_invalid outlets[0].address: expected 'redis://host:port'"],
    [{ redis: 'list', field: () => 'x' }, 'spider_invalid outlets[0].field: has no effect for a Redis list'],
    [{ redis: 'list', serialize: 'json' }, 'spider_invalid outlets[0].serialize: expected a function'],
    [{ redis: 'hash', secretEnv: 'X' }, 'spider_invalid outlets[0].secretEnv: has no effect for a Redis hash'],
    [{ redis: 'list', kinds: ['bok'] }, "spider_invalid outlets[0].kinds: there is no record kind 'bok'"],
    [{ redis: 'list', name: 'a/b' }, 'spider_invalid outlets[0].name: expected letters'],
    [{ redis: 'list', batch: 0 }, 'spider_invalid outlets[0].batch: '],
    [{ webhook: 'hooks.example' }, 'spider_invalid outlets[0].webhook: expected an absolute http or https URL'],
    [{ webhook: 'ftp://hooks.example/' }, 'spider_invalid outlets[0].webhook: expected an absolute http or https URL'],
    [{ webhook: 'https://me:pw@x.example/' }, 'spider_invalid outlets[0].webhook: a user name or password'],
    [{ webhook: 'https://x.example/', key: 'k' }, 'spider_invalid outlets[0].key: has no effect for a webhook'],
    [{ webhook: 'https://x.example/', timeout: 5 }, 'bad_duration outlets[0].timeout: '],
    [
      { webhook: 'https://x.example/', secretEnv: 'SHOAL_SECRET' },
      'spider_invalid outlets[0].secretEnv: names that start',
    ],
  ])('%j is refused', (given, message) => {
    expect(refused(given)).toContain(message)
  })

  it('need names of their own', () => {
    expect(() => outlets({ redis: 'list' }, { redis: 'list', key: 'other' })).toThrow(
      /outlets\[1\]\.name: outlets\[0\] is also named books\/list/,
    )
    expect(outlets({ redis: 'list' }, { redis: 'list', key: 'other', name: 'second' })).toHaveLength(2)
  })
})
