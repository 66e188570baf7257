import { describe, expect, it } from 'vitest'
import { defineSpider } from '../../src/spider/definition.js'
import { createPage } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'

/** Six ids of 64 bits, of which JavaScript numbers make three. */
const IDS = [0, 1, 2, 3, 4, 5].map((n) => String(9007199254740992n + BigInt(n)))

const pageOf = (id: string) =>
  createPage({
    url: `https://api.example/${id}`,
    requestedUrl: `https://api.example/${id}`,
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(`{"item":{"id":${id},"price":19.990000000000002,"stock":7,"owner":{"id":${id}}}}`),
    ...{ route: 'item', depth: 0, attempt: 1, data: undefined },
  })

const spiderWith = (route: object) =>
  spiderFromDefinition(
    defineSpider({
      name: 's',
      start: ['https://api.example/'],
      records: { item: {} },
      routes: { item: { match: '**', ...route } },
    }),
  )

async function harvested(route: object): Promise<Harvest[]> {
  const { harvest } = spiderWith(route).routes.get('item') ?? {}
  if (harvest === undefined) throw new Error('there is a route')
  return Promise.all(IDS.map(async (id) => harvest(pageOf(id), true)))
}

describe('ids over 2^53 on six pages', () => {
  it('are rounded to fewer by JSON.parse', () => {
    expect(new Set(IDS.map(Number)).size).toBeLessThan(6)
  })

  it('are the keys of six records, read by path, and keep their digits in every field', async () => {
    const fields = {
      id: '$.item.id',
      owner: '$.item.owner',
      text: { path: 'item.id', as: 'text' },
      price: '$.item.price',
      stock: '$.item.stock',
    }
    const records = (await harvested({ record: { kind: 'item', key: 'id', fields } })).flatMap(({ records }) => records)
    expect(records).toEqual(
      IDS.map((id) => ({
        kind: 'item',
        key: id,
        data: { id, owner: { id }, text: id, price: 19.990000000000002, stock: 7 },
      })),
    )
  })

  it('are null as integers, never another number', async () => {
    const fields = { id: { path: 'item.id', as: 'integer' }, stock: { path: 'item.stock', as: 'integer' } }
    const [first] = (await harvested({ record: { kind: 'item', fields } })).flatMap(({ records }) => records)
    expect(first?.data).toEqual({ id: null, stock: 7 })
  })

  it('are refused as keys where a handler takes them from page.json, and kept from page.losslessJson', async () => {
    type Item = { item: { id: string | number } }
    const handler = (by: 'json' | 'losslessJson') => ({
      handler(page: Record<typeof by, unknown>, out: { record(kind: string, key: unknown, data: object): void }) {
        out.record('item', (page[by] as Item).item.id, { n: 1 })
      },
    })
    await expect(harvested(handler('json'))).rejects.toMatchObject({
      code: 'handler_error',
      message: expect.stringContaining('lost digits'),
    })
    const records = (await harvested(handler('losslessJson'))).flatMap(({ records }) => records)
    expect(records.map(({ key }) => key)).toEqual(IDS)
  })
})
