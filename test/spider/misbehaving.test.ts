import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ShoalError } from '../../src/errors.js'
import type { Page } from '../../src/spider/page.js'
import { type HandlerPlan, runHandler } from '../../src/spider/run-handler.js'
import type { Harvest } from '../../src/spider/spider.js'
import { unplaced } from '../support/unplaced.js'
import { ENDINGS, type LooseOut, RECORDS, THROWN, thenable } from './misbehaving.js'

const headers: Page['headers'] = { 'content-type': 'text/html' }
const page = { url: 'https://shop.example/1', headers, text: '', data: undefined } as Page

function plan(run: (out: LooseOut) => unknown, parts: Partial<HandlerPlan> = {}): HandlerPlan {
  return {
    ...{ route: 'item', routes: new Set(['item']), kinds: new Map([['item', { schema: null }]]) },
    ...{ data: null, extract: null, pages: null, record: null, steps: [] },
    handler: (_page, out) => run(out as LooseOut) as undefined,
    ...parts,
  }
}

/** The error of the page: nothing else may come out of spider code. */
async function failureOf(run: () => unknown): Promise<ShoalError | null> {
  try {
    await run()
    return null
  } catch (error) {
    expect(error).toBeInstanceOf(ShoalError)
    return error as ShoalError
  }
}

/** Schemas and steps that let everything through see the data before it is JSON: the result must be the same. */
const WAYS: readonly (readonly [way: string, parts: Partial<HandlerPlan>])[] = [
  ['as it is', {}],
  ['through a schema', { kinds: new Map([['item', { schema: z.any() }]]) }],
  ['through a step', { steps: [(record) => record] }],
  ['through a late step', { steps: [async (record) => record] }],
]

describe.each(WAYS)('a record with something odd, %s', (_way, parts) => {
  it.each(RECORDS)('%s', async (_name, handler, expected) => {
    const both = (out: LooseOut) => {
      out.record('item', 'good', { n: 1 })
      handler(out)
    }
    const { records, rejected } = await runHandler(plan(both, parts), page)
    const kept = new Map(records.map(({ key, data }) => [key, data]))
    expect(kept.get('good')).toEqual({ n: 1 })
    if (!Array.isArray(expected)) return expect(kept.get('bad')).toStrictEqual(expected)
    const [field, message] = expected as [string, RegExp]
    expect(rejected).toMatchObject([
      { kind: 'item', key: 'bad', issues: [{ field, message: expect.stringMatching(message) }] },
    ])
    // What is kept of it can be stored.
    expect(JSON.stringify(rejected).length).toBeLessThan(10_000)
  })
})

describe('a handler that throws', () => {
  it.each(THROWN)('%s', async (_name, thrown, message) => {
    const now = await failureOf(() =>
      runHandler(
        plan(() => {
          throw thrown()
        }),
        page,
      ),
    )
    const late = await failureOf(() =>
      runHandler(
        plan(() => Promise.reject(thrown())),
        page,
      ),
    )
    for (const error of [now, late]) {
      expect(error?.code).toBe('handler_error')
      expect(unplaced(error?.message)).toMatch(message)
      expect(error?.message.length).toBeLessThan(1_200)
    }
  })

  it('an error of another Shoal does not pass for one of its own', async () => {
    for (const code of ['queue_down', 'internal', 'robots_disallowed', 'throttled'] as const) {
      const error = await failureOf(() =>
        runHandler(
          plan(() => {
            throw new ShoalError(code, 'of a queue that the handler uses')
          }),
          page,
        ),
      )
      expect(error?.code).toBe('handler_error')
      expect(unplaced(error?.message)).toBe('ShoalError: of a queue that the handler uses')
    }
  })
})

describe('a handler that ends with', () => {
  it.each(ENDINGS)('%s', async (_name, handler, message) => {
    const error = await failureOf(() => runHandler(plan(handler), page))
    if (message === null) return expect(error).toBeNull()
    expect(error?.code).toBe('handler_error')
    expect(unplaced(error?.message)).toMatch(message)
  })
})

describe('a schema that', () => {
  const schema = (validate: (value: unknown) => unknown) =>
    ({ '~standard': { version: 1, vendor: 'test', validate } }) as never
  function thrower(): never {
    throw null
  }
  const answers: readonly (readonly [name: string, validate: () => unknown, message: RegExp])[] = [
    ['throws', thrower, /^null$/],
    ['rejects', () => Promise.reject(null), /^null$/],
    ['returns nothing', () => undefined, /must answer with a value or with issues/],
    ['resolves to nothing', async () => null, /must answer with a value or with issues/],
    ['returns issues that throw', () => Object.defineProperty({}, 'issues', { get: thrower }), /^null$/],
    ['returns issues that are null', () => ({ issues: null }), /./],
    ['returns a thenable that throws', () => thenable(thrower), /^null$/],
  ]

  it.each(answers)('%s is an error of the page', async (_name, validate, message) => {
    const kinds = new Map([['item', { schema: schema(validate) }]])
    const error = await failureOf(() =>
      runHandler(
        plan((out) => out.record('item', 'x', {}), { kinds }),
        page,
      ),
    )
    expect(error).toMatchObject({ code: 'handler_error', message: expect.stringMatching(message) })
    const data = await failureOf(() =>
      runHandler(
        plan(() => {}, { data: schema(validate) }),
        page,
      ),
    )
    expect(data?.code).toBe('handler_error')
  })

  it('answers with a thenable is waited for', async () => {
    const late = schema((value) => thenable((resolve) => resolve({ value })))
    const kinds = new Map([['item', { schema: late }]])
    const { records } = await runHandler(
      plan((out) => out.record('item', 'x', { n: 1 }), { kinds }),
      page,
    )
    expect(records).toEqual([{ kind: 'item', key: 'x', data: { n: 1 } }])
  })

  it('sees dates and maps as the handler gave them', async () => {
    const kinds = new Map([
      [
        'item',
        { schema: z.object({ at: z.date(), sizes: z.map(z.string(), z.number()).transform((sizes) => [...sizes]) }) },
      ],
    ])
    const { records } = await runHandler(
      plan((out) => out.record('item', 'x', { at: new Date(0), sizes: new Map([['s', 1]]) }), { kinds }),
      page,
    )
    expect(records).toMatchObject([{ data: { at: '1970-01-01T00:00:00.000Z', sizes: [['s', 1]] } }])
  })
})

describe('what is changed after it was handed over', () => {
  const steps: [string, Partial<HandlerPlan>][] = [
    ['without a schema', {}],
    ['with a schema', { kinds: new Map([['item', { schema: z.any() }]]) }],
    ['with a late schema', { kinds: new Map([['item', { schema: z.any().refine(async () => true) }]]) }],
    ['with steps', { steps: [(record) => record, async (record) => record] }],
  ]

  it.each(steps)('stays as it was at the call, %s', async (_name, parts) => {
    class Item {
      n = 0
      tags: string[] = []
    }
    for (const shared of [{ n: 0, tags: [] as string[] }, new Item()]) {
      const harvest = (await runHandler(
        plan((out) => {
          for (const key of ['a', 'b', 'c']) {
            shared.n++
            shared.tags.push(key)
            out.record('item', key, shared)
            out.follow(`/${key}`, { data: shared, headers: { n: String(shared.n) } })
          }
          shared.n = 99
          shared.tags.length = 0
        }, parts),
        page,
      )) as Harvest
      const expected = [
        { n: 1, tags: ['a'] },
        { n: 2, tags: ['a', 'b'] },
        { n: 3, tags: ['a', 'b', 'c'] },
      ]
      expect(harvest.records.map(({ data }) => data)).toEqual(expected)
      expect(harvest.links.map(({ data }) => data)).toEqual(expected)
    }
  })

  it('stays as it was when a step returns one object for every record', async () => {
    const shared = { kind: 'item', key: '', data: { n: 0 } }
    const step: HandlerPlan['steps'][number] = (record) => {
      shared.key = record.key
      shared.data.n++
      return shared as never
    }
    const { records } = await runHandler(
      plan(
        (out) => {
          for (const key of ['a', 'b']) out.record('item', key, {})
        },
        { steps: [step] },
      ),
      page,
    )
    expect(records.map(({ key, data }) => [key, data])).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
  })

  it('does not change the fields of a route, which are parts of page.json', async () => {
    const json = { offers: [{ price: 1 }] }
    const harvest = await runHandler(
      plan(
        () => {
          json.offers.length = 0
        },
        { record: { kind: 'item', key: null, each: false }, extract: () => [json] },
      ),
      page,
    )
    expect(harvest.records).toMatchObject([{ data: { offers: [{ price: 1 }] } }])
  })
})
