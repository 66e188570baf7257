import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ShoalError } from '../../src/errors.js'
import type { Page } from '../../src/spider/page.js'
import { type HandlerPlan, runHandler } from '../../src/spider/run-handler.js'
import { unplaced } from '../support/unplaced.js'

const headers: Page['headers'] = { 'content-type': 'text/html' }
const page = { url: 'https://books.example/1', headers, text: '', data: undefined } as Page
const book = z.object({ title: z.string(), price: z.number() })

function plan(parts: Partial<HandlerPlan>): HandlerPlan {
  return {
    route: 'book',
    routes: new Set(['book', 'listing']),
    kinds: new Map([
      ['book', { schema: book, freshMs: 0 }],
      ['raw', { schema: null, freshMs: 0 }],
    ]),
    data: null,
    extract: null,
    pages: null,
    record: null,
    steps: [],
    handler: null,
    ...parts,
  }
}

type LooseOut = { record(...args: unknown[]): void; follow(...args: unknown[]): void }

/** A handler as untyped JavaScript would write it. */
const handler = (run: (out: LooseOut, page: Page) => unknown) =>
  plan({ handler: (page, out) => run(out as LooseOut, page) as undefined })

async function failure(run: () => unknown): Promise<ShoalError> {
  try {
    await run()
  } catch (error) {
    if (error instanceof ShoalError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('fields and follow rules', () => {
  const fromFields = (fields: Record<string, string | number | null>, key: string | null = 'title') =>
    plan({
      record: { kind: 'book', key, each: false },
      extract: (_page, collected) => {
        collected?.links.push({ href: '/next' })
        return [fields]
      },
    })

  it('make a record and links without a promise', () => {
    expect(runHandler(fromFields({ title: 'A', price: 3 }), page)).toEqual({
      records: [{ kind: 'book', key: 'A', data: { title: 'A', price: 3 } }],
      rejected: [],
      links: [{ href: '/next' }],
    })
  })

  it("use the page's URL where no field is the key", () => {
    expect(runHandler(fromFields({ title: 'A', price: 3 }, null), page)).toMatchObject({ records: [{ key: page.url }] })
  })

  it('keep what does not fit, with its data and each field that is wrong', () => {
    expect(runHandler(fromFields({ title: 'A', price: null }), page)).toMatchObject({
      records: [],
      rejected: [
        {
          kind: 'book',
          key: 'A',
          data: { title: 'A', price: null },
          issues: [{ field: 'price', message: expect.any(String) }],
        },
      ],
      links: [{ href: '/next' }],
    })
  })

  it('keep a record whose key is not on the page', () => {
    expect(runHandler(fromFields({ title: null, price: 3 }), page)).toMatchObject({
      records: [],
      rejected: [{ key: '', issues: [{ field: 'title' }] }],
    })
  })

  it('run before the handler', () => {
    const both = {
      ...fromFields({ title: 'A', price: 3 }),
      handler: ((_page, out) => out.follow('/last')) as HandlerPlan['handler'],
    }
    expect(runHandler(both, page)).toMatchObject({ links: [{ href: '/next' }, { href: '/last' }] })
  })
})

describe('handlers', () => {
  it('that are synchronous cost no promise', () => {
    const harvest = runHandler(
      handler((out) => void out.record('book', 7, { title: 'A', price: 3 })),
      page,
    )
    expect(harvest).toMatchObject({ records: [{ kind: 'book', key: '7' }] })
  })

  it('may be asynchronous', async () => {
    const harvest = runHandler(
      handler(async (out) => {
        await null
        out.record('book', 'x', { title: 'A', price: 3 })
      }),
      page,
    )
    expect(harvest).toBeInstanceOf(Promise)
    expect(await harvest).toMatchObject({ records: [{ key: 'x' }] })
  })

  it('send links with everything a link may carry', () => {
    const options = {
      route: 'listing',
      priority: 5,
      data: { n: 1 },
      method: 'POST',
      headers: { a: 'b' },
      body: 'x',
      dedupeKey: 'k',
      delay: '2s',
    }
    expect(
      runHandler(
        handler((out) => out.follow('/a', options)),
        page,
      ),
    ).toMatchObject({
      links: [
        {
          href: '/a',
          route: 'listing',
          priority: 5,
          data: { n: 1 },
          request: { method: 'POST', headers: { a: 'b' }, body: 'x' },
          dedupeKey: 'k',
          delayMs: 2_000,
        },
      ],
    })
  })

  it('may change the data of a link afterwards', () => {
    const data = { n: 1, at: new Date(0), nothing: undefined }
    const harvest = runHandler(
      handler((out) => {
        out.follow('/a', { data })
        data.n = 2
      }),
      page,
    )
    expect(harvest).toMatchObject({ links: [{ data: { n: 1, at: '1970-01-01T00:00:00.000Z' } }] })
  })

  it.each([
    [
      'an unknown kind',
      (out: LooseOut) => out.record('bok', 'x', {}),
      "out.record: there is no record kind 'bok' (there is: book, raw)",
    ],
    [
      'an empty key',
      (out: LooseOut) => out.record('book', '', {}),
      "out.record: the key of a record must be a non-empty string or a number, not ''",
    ],
    ['NaN as key', (out: LooseOut) => out.record('book', Number.NaN, {}), /must be a non-empty string or a number/],
    ['no data', (out: LooseOut) => out.record('book', 'x'), /data of a record must be an object, not undefined/],
    [
      'an unknown route',
      (out: LooseOut) => out.follow('/', { route: 'bok' }),
      "out.follow: there is no route 'bok' (there is: book, listing)",
    ],
    [
      'a bigint in the data of a link',
      (out: LooseOut) => out.follow('/', { data: { price: 10n } }),
      "out.follow: the data of a link must be JSON: 'price' is a bigint",
    ],
    [
      'a function in the data of a link',
      (out: LooseOut) => out.follow('/', { data: [{ f() {} }] }),
      "out.follow: the data of a link must be JSON: '[0].f' is a function",
    ],
    ['nothing but a symbol as data', (out: LooseOut) => out.follow('/', { data: Symbol('s') }), /it is a symbol/],
    [
      'data that holds itself',
      (out: LooseOut) => {
        const data: Record<string, unknown> = {}
        data.self = data
        out.follow('/', { data })
      },
      /^out.follow: the data of a link must be JSON: .*circular/,
    ],
    [
      'a body of bytes',
      (out: LooseOut) => out.follow('/', { body: Buffer.from('x') }),
      /body must be a string, not an/,
    ],
    ['a number as method', (out: LooseOut) => out.follow('/', { method: 1 }), /method must be a string, not a number/],
    [
      'a number as header',
      (out: LooseOut) => out.follow('/', { headers: { a: 1 } }),
      'out.follow: headers.a must be a string, not a number',
    ],
    ['a list of headers', (out: LooseOut) => out.follow('/', { headers: [['a', 'b']] }), /headers must be an object/],
    ['a bigint as dedupeKey', (out: LooseOut) => out.follow('/', { dedupeKey: 1n }), /dedupeKey must be a string/],
    ['no link', (out: LooseOut) => out.follow(undefined), 'out.follow: the link must be a string, not undefined'],
    [
      'an error',
      () => {
        throw new TypeError('no')
      },
      'TypeError: no',
    ],
    [
      'a late error',
      async () => {
        throw new TypeError('no')
      },
      'TypeError: no',
    ],
    ['something that is no error', () => Promise.reject('text'), 'text'],
  ])('with %s end as handler_error', async (_what, run, message) => {
    const error = await failure(() => runHandler(handler(run), page))
    expect(error.code).toBe('handler_error')
    expect(unplaced(error.message)).toMatch(message)
  })

  it('cannot use out once they have ended', async () => {
    let late: LooseOut | undefined
    runHandler(
      handler((out) => {
        late = out
      }),
      page,
    )
    expect((await failure(() => late?.record('book', 'x', {}))).message).toMatch(/after the handler had ended/)
  })
})

describe('data of links', () => {
  const withData = plan({ data: z.object({ page: z.number() }) })

  it('is checked when the link arrives', async () => {
    expect(runHandler(withData, { ...page, data: { page: 1 } })).toEqual({ records: [], rejected: [], links: [] })
    const error = await failure(() => runHandler(withData, { ...page, data: { page: 'one' } }))
    expect(`${error.code} ${error.message}`).toMatch(
      /^handler_error the link's data does not match the schema of route 'book': page: /,
    )
  })
})

describe('steps', () => {
  const record = (out: LooseOut) => {
    out.record('book', 'a', { title: 'A', price: 1 })
    out.record('book', 'b', { title: 'B', price: 2 })
  }

  it('change and drop records in order, before the schema looks', async () => {
    const steps: HandlerPlan['steps'] = [
      (record) => (record.key === 'b' ? null : record),
      async (record) => ({ ...record, data: { ...(record.data as object), price: 'dear' } }),
    ]
    expect(await runHandler({ ...handler(record), steps }, page)).toMatchObject({
      records: [],
      rejected: [{ key: 'a', data: { title: 'A', price: 'dear' }, issues: [{ field: 'price' }] }],
    })
  })

  it('that are synchronous cost no promise', () => {
    expect(runHandler({ ...handler(record), steps: [(record) => record] }, page)).toMatchObject({
      records: [{ key: 'a' }, { key: 'b' }],
    })
  })

  it('must return a record or null', async () => {
    const error = await failure(() => runHandler({ ...handler(record), steps: [() => undefined as never] }, page))
    expect(unplaced(error.message)).toBe('a step must return a record { kind, key, data } or null')
  })
})

describe('schemas', () => {
  it('may be asynchronous, and may change the data', async () => {
    const slow = z.object({ title: z.string().transform(async (text) => text.toUpperCase()) })
    const kinds = new Map([['book', { schema: slow, freshMs: 0 }]])
    const harvest = await runHandler({ ...handler((out) => out.record('book', 'x', { title: 'a' })), kinds }, page)
    expect(harvest.records).toEqual([{ kind: 'book', key: 'x', data: { title: 'A' } }])
  })

  it('are not needed', () => {
    expect(
      runHandler(
        handler((out) => out.record('raw', 'x', { any: [1] })),
        page,
      ),
    ).toMatchObject({ records: [{ data: { any: [1] } }] })
  })
})
