/** Handlers as nobody should write them. Each is given `out` and the page of one visit, untyped, as a JavaScript file would. */
export interface LooseOut {
  record(...args: unknown[]): void
  follow(...args: unknown[]): void
}

type Handler = (out: LooseOut) => unknown

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

function circle(): object {
  const self: Record<string, unknown> = { n: 1 }
  self.self = self
  return self
}

const thrower = (): never => {
  throw new Error('no')
}

class Point {
  x = 1
  y = 2
  get sum() {
    return this.x + this.y
  }
}

class Empty {
  #hidden = 1
  get hidden() {
    return this.#hidden
  }
}

/** Adds a `then`: what a promise library of another age returns. */
export function thenable(then: (resolve: (value: unknown) => void) => void, on: object = new Thenable()): object {
  return Object.defineProperty(on, 'then', { value: then })
}

class Thenable {}

function aggregate(): AggregateError {
  const error = new AggregateError([], 'many')
  error.errors.push(error)
  error.cause = error
  return error
}

const record =
  (data: unknown): Handler =>
  (out) =>
    out.record('item', 'bad', data)

/** What is put into a record: where it is wrong and why, or what is stored. */
export const RECORDS: readonly (readonly [
  name: string,
  handler: Handler,
  expected: readonly [string, RegExp] | object,
])[] = [
  [
    'a getter that throws',
    record({
      a: {
        get b() {
          return thrower()
        },
      },
    }),
    ['a.b', /cannot be read: no/],
  ],
  [
    'a getter that throws null',
    record({
      get a() {
        throw null
      },
    }),
    ['a', /cannot be read: null/],
  ],
  ['a revoked proxy', record({ list: [revoked()] }), ['list[0]', /cannot be read/]],
  ['nothing but a revoked proxy', record(revoked()), ['', /cannot be read/]],
  ['a proxy whose keys throw', record({ a: new Proxy({}, { ownKeys: thrower }) }), ['a', /cannot be read: no/]],
  [
    'a proxy that has every key',
    record(
      new Proxy(
        {},
        {
          ownKeys: () => ['n'],
          getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
          get: (_, key) => (key === 'n' ? 1 : undefined),
        },
      ),
    ),
    { n: 1 },
  ],
  [
    'an array that claims to be huge',
    record({ a: new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 : undefined) }) }),
    ['a[262142]', /limit of 262144 values/],
  ],
  ['a sparse array of four billion', record({ a: new Array(2 ** 32 - 1) }), ['a[262142]', /limit of 262144 values/]],
  ['a small sparse array', record({ a: Object.assign([1], { 2: 3 }) }), { a: [1, null, 3] }],
  ['a million values', record({ a: Array(1_000_000).fill(0) }), ['a[262142]', /limit of 262144 values/]],
  ['a toJSON that throws', record({ a: { toJSON: thrower } }), ['a', /cannot be read: no/]],
  [
    'a toJSON that throws a symbol',
    record({
      toJSON() {
        throw Symbol('s')
      },
    }),
    ['', /cannot be read: Symbol\(s\)/],
  ],
  ['a toJSON that returns undefined', record({ a: { toJSON() {} } }), ['a', /is undefined/]],
  ['a toJSON that returns a function', record({ a: { toJSON: () => thrower } }), ['a', /is a function/]],
  [
    'a toJSON that returns itself',
    record({
      a: {
        n: 1,
        toJSON() {
          return this
        },
      },
    }),
    ['a.toJSON', /is a function/],
  ],
  ['a toJSON that returns something deep', record({ a: { toJSON: () => deep(600) } }), [expect10(), /deeper than 500/]],
  ['a circle', record(circle()), ['self.self.self.self.self.self.self.self.self.self', /circular/]],
  ['6,000 levels', record({ a: deep(6_000) }), [`a${'[0]'.repeat(9)}`, /deeper than 500/]],
  ['a million levels', record({ a: deep(1_000_000) }), [`a${'[0]'.repeat(9)}`, /deeper than 500/]],
  ['a bigint', record({ n: 10n }), ['n', /bigint.*String/]],
  ['a symbol', record({ n: Symbol('s') }), ['n', /is a symbol/]],
  ['a function', record({ offers: [{}, { f() {} }] }), ['offers[1].f', /is a function/]],
  ['a class', record({ Point }), ['Point', /is a function/]],
  ['a promise', record({ a: Promise.resolve(1) }), ['a', /is a promise: await it/]],
  ['a thenable', record({ a: thenable(() => {}) }), ['a', /is a promise: await it/]],
  ['a Map', record({ a: new Map([[1, 2]]) }), ['a', /is a Map: use an array/]],
  ['a Set', record({ tags: new Set(['a']) }), ['tags', /is a Set: use an array/]],
  ['a WeakMap', record({ a: new WeakMap() }), ['a', /is a WeakMap/]],
  ['a Buffer', record({ a: Buffer.from('x') }), ['a', /is a Buffer: use an array/]],
  ['a typed array', record({ a: new Float64Array(2) }), ['a', /is a Float64Array: use an array/]],
  ['an ArrayBuffer', record({ a: new ArrayBuffer(2) }), ['a', /is an ArrayBuffer/]],
  ['a regular expression', record({ a: /x/ }), ['a', /is a RegExp/]],
  ['an error', record({ a: new TypeError('x') }), ['a', /is a TypeError/]],
  [
    'a generator',
    record({
      a: (function* () {
        yield 1
      })(),
    }),
    ['a', /use an array/],
  ],
  [
    'an async iterable',
    record({
      a: (async function* () {
        yield 1
      })(),
    }),
    ['a', /use an array/],
  ],
  ['an instance without fields', record({ a: new Empty() }), ['a', /is an Empty/]],
  ['an instance of a class', record(new Point()), { x: 1, y: 2 }],
  [
    'a date, a URL and boxed values',
    record({
      at: new Date(0),
      no: new Date(Number.NaN),
      to: new URL('https://a.example/'),
      n: Object(1),
      s: Object('s'),
    }),
    { at: '1970-01-01T00:00:00.000Z', no: null, to: 'https://a.example/', n: 1, s: 's' },
  ],
  [
    'numbers that JSON has not',
    record({ a: Number.NaN, b: Number.POSITIVE_INFINITY, c: -0, d: [undefined], e: undefined }),
    { a: null, b: null, c: -0, d: [null] },
  ],
  [
    'a key __proto__',
    record(JSON.parse('{"__proto__":{"polluted":true},"n":1}')),
    JSON.parse('{"__proto__":{"polluted":true},"n":1}') as object,
  ],
  ['an object without a prototype', record(Object.assign(Object.create(null), { n: 1 })), { n: 1 }],
  [
    'a getter that adds records',
    (out) =>
      out.record('item', 'bad', {
        get n() {
          out.record('item', 'inner', { n: 2 })
          return 1
        },
      }),
    { n: 1 },
  ],
]

function expect10(): string {
  return `a${'[0]'.repeat(9)}`
}

/** What is thrown: the message of the page's error. */
export const THROWN: readonly (readonly [name: string, thrown: () => unknown, message: RegExp])[] = [
  ['null', () => null, /^null$/],
  ['undefined', () => undefined, /^undefined$/],
  ['a number', () => 7, /^7$/],
  ['a symbol', () => Symbol('s'), /^Symbol\(s\)$/],
  ['a function', () => thrower, /^\[Function: thrower\]$/],
  ['a frozen object', () => Object.freeze({ a: 1 }), /a: 1/],
  ['an object without a prototype', () => Object.create(null), /null prototype/],
  ['an error', () => new TypeError('no'), /^TypeError: no$/],
  ['a frozen error', () => Object.freeze(new Error('no')), /^Error: no$/],
  [
    'an error whose message throws',
    () => Object.defineProperty(new Error('x'), 'message', { get: thrower }),
    /cannot be shown/,
  ],
  ['an error whose name throws', () => Object.defineProperty(new Error('x'), 'name', { get: thrower }), /^x$/],
  ['an error whose message is an object', () => Object.assign(new Error('x'), { message: { toString: thrower } }), /./],
  ['a revoked proxy', revoked, /./],
  ['a proxy that throws', () => new Proxy(new Error('x'), { get: thrower, getPrototypeOf: thrower }), /./],
  ['a text of 50 MB', () => 'x'.repeat(50 * 1024 * 1024), /^x{1000}$/],
  ['an error of 50 MB', () => new Error('x'.repeat(50 * 1024 * 1024)), /^Error: x{1000}$/],
  [
    'an object whose toString throws',
    () => ({ toString: thrower, toJSON: thrower, [Symbol.toPrimitive]: thrower }),
    /./,
  ],
  ['an AggregateError that contains itself', aggregate, /^AggregateError: many$/],
]

/** Handlers that end in a strange way: the error of the page, or null where it is none. */
export const ENDINGS: readonly (readonly [name: string, handler: Handler, message: RegExp | null])[] = [
  ['a thenable that resolves at once', () => thenable((resolve) => resolve(1)), null],
  ['a thenable whose then throws', () => thenable(thrower), /^Error: no$/],
  ['a getter then that throws', () => Object.defineProperty({}, 'then', { get: thrower }), /^Error: no$/],
  ['a promise with a then of its own that throws', () => thenable(thrower, Promise.resolve()), /^Error: no$/],
  [
    'a stack overflow',
    () => {
      const again = (): unknown => [again()]
      again()
    },
    /^RangeError: Maximum call stack/,
  ],
  [
    'a record at the end of the stack',
    (out) => {
      const again = () => {
        try {
          again()
        } catch {
          out.record('item', 'bad', { a: deep(400) })
        }
      }
      again()
    },
    null,
  ],
  ['an array of a million records', () => Array(1_000_000).fill({}), null],
  ['a key that is a bigint', (out) => out.record('item', 12345678901234567890n, { n: 1 }), null],
  [
    'a key that lost its digits',
    (out) => out.record('item', Number('12345678901234567891'), { n: 1 }),
    /lost digits: take it from page.losslessJson/,
  ],
  [
    'a key that is an object whose toString throws',
    (out) => out.record('item', { toString: thrower, toJSON: thrower }, {}),
    /key of a record must be/,
  ],
  ['a kind that is a revoked proxy', (out) => out.record(revoked(), 'x', {}), /no record kind/],
  [
    'options of a link that throw',
    (out) =>
      out.follow('/a', {
        get data() {
          return thrower()
        },
      }),
    /^Error: no$/,
  ],
  [
    'data of a link that throws',
    (out) =>
      out.follow('/a', {
        data: {
          a: [
            {
              get b() {
                return thrower()
              },
            },
          ],
        },
      }),
    /'a\[0\].b' cannot be read: no/,
  ],
  [
    'data of a link of 6,000 levels',
    (out) => out.follow('/a', { data: deep(6_000) }),
    /must be JSON: .* deeper than 500/,
  ],
  ['headers of a link that are a revoked proxy', (out) => out.follow('/a', { headers: revoked() }), /./],
  ['a link that is an object', (out) => out.follow({ toString: thrower, toJSON: thrower }), /link must be a string/],
]
