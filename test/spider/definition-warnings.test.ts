import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { definitionWarnings } from '../../src/spider/definition-warnings.js'
import { resolveSpider } from '../../src/spider/resolve.js'

function warnings(parts: Partial<SpiderDefinition>): string[] {
  const basics = { name: 'a', start: ['https://a.example/'], scope: { hosts: ['a.example'] } }
  return definitionWarnings(resolveSpider({ ...basics, routes: {}, ...parts } as SpiderDefinition, ''))
}

const list = { match: '/', follow: [{ links: 'a', route: 'item' }] }
const item = { match: '/item/*', record: { kind: 'item', fields: { title: 'h1' } } }
const records = { item: z.object({ title: z.string() }) }

describe('warnings of a definition', () => {
  it('has none for a sound spider', () => {
    expect(warnings({ records, routes: { list, item } })).toEqual([])
    expect(warnings({ records, routes: { list: { match: '/', follow: [{ links: 'a' }] }, item } })).toEqual([])
    expect(warnings({ records, routes: { all: { match: '**', handler() {} }, item: { handler() {} } } })).toEqual([])
  })

  it('names routes that nothing leads to', () => {
    const routes = { list: { match: '/', follow: [{ links: 'a.next', route: 'list' }] }, item }
    expect(warnings({ records, routes })).toEqual(['routes.item: no start URL and no rule leads to it'])
    // Any URL may come from a feed, and a handler may follow anything.
    expect(warnings({ records, routes, feed: true })).toEqual([])
    expect(warnings({ records, routes: { ...routes, list: { ...routes.list, handler() {} } } })).toEqual([])
  })

  it('names routes behind another one that takes their URLs', () => {
    const follow = [{ links: 'a' }]
    const routes = { list: { match: '/', follow }, any: { match: '/item/**', follow }, item }
    expect(warnings({ records, routes })).toEqual([
      'routes.item.match: routes.any comes first and matches the same URLs',
    ])
    expect(warnings({ records, routes: { list: routes.list, item, any: routes.any } })).toEqual([])
    // By name it is reached all the same.
    expect(
      warnings({ records, routes: { ...routes, any: { ...routes.any, follow: [{ links: 'a', route: 'item' }] } } }),
    ).toEqual([])
    expect(warnings({ records, routes: { list: routes.list, any: { match: /item/, follow }, item } })).toEqual([
      'routes.item.match: routes.any comes first and matches the same URLs',
    ])
    expect(warnings({ records, routes: { list: routes.list, item, late: { match: /item/, follow } } })).toEqual([])
  })

  it('names routes without effect and kinds that no route produces', () => {
    expect(warnings({ records: { ...records, shop: {} }, routes: { list, item: { match: '/item/*' } } })).toEqual([
      'routes.item: does nothing with its pages: give it follow, record, pages or a handler',
      'records.item: no route produces it',
      'records.shop: no route produces it',
    ])
  })
})
