import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryOf, type ParsedEntry } from '../../src/feed/entry/fed-url.js'
import { parseEntry } from '../../src/feed/entry/parse-entry.js'

const A = 'https://a.example/'
const B = 'https://b.example/'
const hasRoute = (name: string) => name === 'page' || name === 'book'
const parse = (entry: unknown): ParsedEntry =>
  parseEntry(typeof entry === 'string' ? entry : JSON.stringify(entry), hasRoute)
const noted = ({ notes }: ParsedEntry) => notes.map(({ key }) => key).sort()
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

describe('an entry in the format of Shoal', () => {
  it.each([
    [A, { url: A }],
    [`  ${A} \n`, { url: A }],
    [`\uFEFF${A}`, { url: A }],
    [JSON.stringify(A), { url: A }],
    [{ url: A }, { url: A }],
    [
      { url: ` ${A} `, route: 'page', priority: 5, data: { a: [] }, again: true },
      { url: A, route: 'page', priority: 5, data: { a: [] }, again: true },
    ],
    [
      { url: 'x', data: 'a text', again: false },
      { url: 'x', data: 'a text', again: false },
    ],
  ])('%j is read as it is', (entry, fed) => {
    expect(parse(entry)).toEqual({ fed: [fed], refused: [], notes: [] })
  })
})

describe('an entry of another system', () => {
  it('of scrapy-redis keeps its meta and its own keys as data', () => {
    const parsed = parse({ url: A, meta: { 'job-id': '123xsd' }, url_cookie_key: 'fertxsas' })
    expect(parsed.fed).toEqual([{ url: A, data: { 'job-id': '123xsd', url_cookie_key: 'fertxsas' } }])
    expect(noted(parsed)).toEqual(['url_cookie_key'])
  })

  it('of Scrapy is a request with its priority, callback and headers', () => {
    const parsed = parse({
      ...{ url: A, callback: 'parse_item', errback: null, method: 'POST', body: 'q=1', encoding: 'utf-8' },
      headers: { 'User-Agent': ['me'], Host: ['a.example'], 'X-Key': 7 },
      cookies: { sid: 'abc', lang: 'de' },
      ...{ meta: { depth: 1 }, priority: 1000, dont_filter: true, flags: [] },
    })
    expect(parsed.fed).toEqual([
      {
        url: A,
        priority: 100,
        again: true,
        request: {
          method: 'POST',
          body: 'q=1',
          headers: { 'user-agent': 'me', 'x-key': '7', cookie: 'sid=abc; lang=de' },
        },
        data: { depth: 1, callback: 'parse_item', errback: null, encoding: 'utf-8', flags: [] },
      },
    ])
    expect(noted(parsed)).toEqual(['callback', 'encoding', 'errback', 'flags', 'headers.host', 'priority'])
  })

  it('of Celery is the call in its message, by protocol 1 and 2', () => {
    const properties = { correlation_id: 'id1', delivery_tag: 't', priority: 0, body_encoding: 'base64' }
    const common = { 'content-encoding': 'utf-8', 'content-type': 'application/json', properties }
    const headers = { lang: 'py', task: 'page', id: 'id1', retries: 0, eta: null, argsrepr: '…', origin: 'gen1@host' }
    const two = parse({ ...common, headers, body: base64([[A, 7], { priority: 3, shop: 1 }, { chord: null }]) })
    expect(two.fed).toEqual([{ url: A, route: 'page', priority: 3, data: { id: 'id1', args: [7], shop: 1 } }])
    expect(noted(two)).toEqual(['args', 'argsrepr', 'eta', 'id', 'lang', 'origin', 'retries', 'shop'])
    const call = { task: 'tasks.crawl', id: 'id1', args: [], kwargs: { url: A }, retries: 0, eta: null }
    const fed = [{ url: A, data: { task: 'tasks.crawl', id: 'id1' } }]
    expect(parse({ ...common, headers: {}, body: base64(call) }).fed).toEqual(fed)
    expect(parse(call).fed).toEqual(fed)
  })

  it.each([
    [
      'rq-style',
      { func: 'book', args: [A], kwargs: { depth: 2 }, timeout: 180 },
      { route: 'book', data: { depth: 2 } },
    ],
    ['rq-style', { func_name: 'app.crawl', args: [A] }, { data: { task: 'app.crawl' } }],
    [
      'of Sidekiq',
      { class: 'book', args: [{ url: A, n: 1 }], jid: 'j1', retry: true },
      { route: 'book', data: { n: 1, jid: 'j1' } },
    ],
    ['of Dramatiq', { actor_name: 'book', args: [], kwargs: { url: A }, options: {} }, { route: 'book' }],
    [
      'of BullMQ',
      { name: 'book', data: { url: A, shop: 3 }, opts: { attempts: 3 } },
      { route: 'book', data: { shop: 3 } },
    ],
    ['of BullMQ, with its data as text', { name: 'x', data: `{"url":"${A}"}` }, { data: { task: 'x' } }],
    ['made by hand', { url: A, attempts: 3 }, { data: { attempts: 3 } }],
    ['made by hand', { URL: A, maxRetries: 3 }, { data: { maxRetries: 3 } }],
    ['made by hand', { link: A, type: 'page' }, { route: 'page' }],
  ])('%s is read: %j', (_who, entry, rest) => {
    expect(parse(entry)).toMatchObject({ fed: [{ url: A, ...rest }], refused: [] })
  })

  it('may have several URLs', () => {
    for (const entry of [
      { urls: [A, B], x: 1 },
      { url: [A, B], x: 1 },
      { func: 'f', args: [[A, B]], x: 1 },
    ]) {
      expect(parse(entry).fed).toMatchObject([
        { url: A, data: { x: 1 } },
        { url: B, data: { x: 1 } },
      ])
    }
    for (const entry of [[A, { url: B }], `${A}\n${B}\n`, `${A}\r\n{"url":"${B}"}`, `{"url":"${A}"}\n"${B}"`]) {
      expect(parse(entry)).toEqual({ fed: [{ url: A }, { url: B }], refused: [], notes: [] })
    }
    const parsed = parse({ urls: [A, 5, ''] })
    expect(parsed.fed).toEqual([{ url: A }])
    expect(parsed.refused).toHaveLength(2)
    expect(parse([A, [B]]).refused).toEqual([{ text: `["${B}"]`, reason: 'it has no url' }])
  })
})

describe('a key that says something else than it should', () => {
  it.each([
    [{ route: 'none' }, { data: { route: 'none' } }, 'names no route'],
    [{ route: 5 }, { data: { route: 5 } }, 'names no route'],
    [{ callback: 'parse' }, { data: { callback: 'parse' } }, 'names no route'],
    [{ route: 'page', type: 'book' }, { route: 'page', data: { type: 'book' } }, 'same as another'],
    [{ priority: '7' }, { priority: 7 }, null],
    [{ priority: 'high' }, { data: { priority: 'high' } }, 'not a number'],
    [{ priority: -1e9 }, { priority: -100 }, 'outside -100 to 100'],
    [{ priority: null, again: null, meta: null }, {}, null],
    [{ again: 'yes' }, { again: true }, null],
    [{ dont_filter: 0 }, { again: false }, null],
    [{ again: 'perhaps' }, { data: { again: 'perhaps' } }, 'neither true nor false'],
    [{ retries: 5 }, { data: { retries: 5 } }, 'the `retries` of the spider apply'],
    [{ meta: 'a text' }, { data: 'a text' }, null],
    [{ meta: 'a text', shop: 1 }, { data: { data: 'a text', shop: 1 } }, 'not a key'],
    [{ data: { id: 1 }, meta: { id: 2, x: 3 }, id: 4 }, { data: { id: 1, x: 3 } }, 'also in data'],
    [{ method: 'get', headers: {}, cookies: {}, body: '' }, {}, null],
    [{ method: 'no method' }, { data: { method: 'no method' } }, 'not a method'],
    [{ headers: 'x' }, { data: { headers: 'x' } }, 'not an object'],
    [{ headers: { 'a b': 'c', d: 'e\nf' } }, {}, 'cannot be sent'],
    [{ cookies: [{ name: 'a', value: 'b' }] }, { request: { headers: { cookie: 'a=b' } } }, null],
    [{ cookies: { 'a;b': 'c' } }, {}, 'cannot be sent is left out'],
    [{ cookies: 'a=b' }, { data: { cookies: 'a=b' } }, 'neither an object'],
    [{ body: { a: 1 } }, { data: { body: { a: 1 } } }, 'not a text'],
  ])('%j is no reason to refuse it', (keys, rest, note) => {
    const parsed = parse({ url: A, ...keys })
    expect(parsed.fed).toEqual([{ url: A, ...rest }])
    const texts = parsed.notes.map(({ text }) => text).join(' ')
    if (note === null) expect(texts).toBe('')
    else expect(texts).toContain(note)
  })

  it('cannot change the prototype of anything', () => {
    const parsed = parse(`{"url":"${A}","__proto__":{"again":true},"data":{"constructor":1}}`)
    expect(parsed.fed).toEqual([{ url: A, data: { constructor: 1 } }])
    expect(noted(parsed)).toEqual(['__proto__'])
  })
})

describe('an entry without a usable URL', () => {
  const PICKLE = Buffer.from('80049525000000000000007d9428', 'hex').toString('utf8')
  it.each([
    ['', 'it is empty'],
    ['  \n', 'it is empty'],
    ['{"url":', 'it is not JSON'],
    ['{}', 'it has no url'],
    ['{"url":5}', 'it has no url'],
    ['[]', 'it has no url'],
    ['{"args":["x"],"task":"t"}', 'it has no url'],
    [`{"data":{"link":"${A}"}}`, null],
    [`{"url":"${'x'.repeat(300_000)}"}`, 'bytes are more than'],
    [`{"url":"${A}","data":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'nested more than 500'],
    [JSON.stringify({ urls: Array(1_001).fill('x') }), 'more than 1000'],
    [`${A}\n`.repeat(1_001), 'more than 1000'],
    [JSON.stringify({ urls: Array(900).fill(A), data: 'x'.repeat(200_000) }), 'stored with each of its 900 URLs'],
    [PICKLE, 'pickled Python object'],
    ['(dp0\nVurl\np1\nVhttps://a.example/\np2\ns.', 'pickled Python object'],
    ["{'url': 'https://a.example/'}", 'not JSON: use json.dumps'],
    ["{url: 'https://a.example/'}", 'not JSON: use json.dumps'],
    ["b'https://a.example/'", 'decode them'],
    ['[object Object]', 'JSON.stringify'],
    ['\x1f\uFFFD\x08\0\0', 'gzip'],
    ['x\uFFFDKLJ', 'zlib'],
    ['\uFFFD\uFFFD\0\x01abc', 'binary data'],
    ['3662e57b-0188-4b78-982c-6904058242d8', 'id of a job'],
    ['17', 'id of a job'],
    ['https://a.example/caf\uFFFD', 'percent-encode'],
    [
      JSON.stringify({
        body: 'gASV',
        headers: { task: 't' },
        properties: {},
        'content-type': 'application/x-python-serialize',
      }),
      "set task_serializer = 'json'",
    ],
    [
      JSON.stringify({ body: '!', headers: { task: 't' }, properties: { body_encoding: 'base64' } }),
      'body cannot be read',
    ],
  ])('%.60j is refused', (text, reason) => {
    const { fed, refused } = parse(text)
    if (reason === null) return expect(fed).toHaveLength(1)
    expect(fed).toEqual([])
    expect(refused).toEqual([{ text, reason: expect.stringContaining(reason) }])
  })
})

describe('whatever is pushed', () => {
  const key = fc.oneof(
    fc.constantFrom(...['url', 'urls', 'route', 'type', 'priority', 'meta', 'data', 'args', 'kwargs', 'task', 'body']),
    fc.constantFrom(...['headers', 'cookies', 'properties', 'method', 'again', '__proto__', 'constructor', 'toString']),
    fc.string(),
  )
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(A, B),
    fc.dictionary(key, fc.jsonValue()),
    fc.array(fc.string()),
  )
  const entry = fc.dictionary(key, value)

  it('is read or refused, and never an error', () => {
    const garbage = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      entry.map((one) => JSON.stringify(one)),
    )
    fc.assert(
      fc.property(garbage, (text) => {
        const { fed, refused } = parse(text)
        expect(fed.length + refused.length).toBeGreaterThan(0)
        for (const one of fed) JSON.parse(JSON.stringify(one))
      }),
    )
  })

  it('is taken if it has a URL, whatever else it has', () => {
    fc.assert(
      fc.property(entry, (more) => {
        const { urls: _urls, ...rest } = more
        const { fed, refused } = parse(JSON.stringify({ ...rest, url: A }))
        expect(refused).toEqual([])
        expect(fed[0]?.url).toBe(A)
      }),
    )
  })

  it('means the same when it is pushed again in the format of Shoal', () => {
    fc.assert(
      fc.property(entry, (more) => {
        const { fed } = parse(JSON.stringify({ ...more, url: A }))
        const texts = fed.map(entryOf)
        expect(texts.map((text) => parse(text).fed[0])).toEqual(fed.map((one) => JSON.parse(JSON.stringify(one))))
      }),
    )
  })
})
