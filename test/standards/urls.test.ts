import { expect, it } from 'vitest'
import { type AdmitRules, createAdmitter } from '../../src/url/admit.js'
import { canonicalise } from '../../src/url/canonicalise.js'
import { encodeQuery } from '../../src/url/encode-query.js'
import { createPlainParser } from '../../src/url/parse-plain.js'
import { isWeb, parseUrl } from '../../src/url/parse-url.js'
import { urlCases } from './url-tests.js'

const CASES = urlCases()
const resolvable = CASES.filter(({ base }) => base === null || parseUrl(base) !== null)
const shown = ({ input, base }: { input: string; base: string | null }) => JSON.stringify([input, base])

/** Nothing is changed but what always is: fragment, user info, the spelling of escapes. */
const CANONICAL = { dropParams: [], sortParams: false, trailingSlash: 'keep', rewrite: null } as const
const RULES: AdmitRules = {
  hosts: [],
  allow: [],
  deny: [],
  maxDepth: 50,
  maxUrlLength: 100_000,
  traps: { maxSegments: 1000, maxRepeat: 1000, maxParams: 1000, sessionIds: false, calendars: false },
  canonical: CANONICAL,
  depthPriority: 0,
  pace: { per: 'host', groups: [] },
  routeOf: () => ({ name: 'page', priority: 0 }),
  priorityOf: () => 0,
}

/** The package's tests are from 2022. Since 2024 the standard escapes ^ in paths, as Chromium does. */
const ESCAPES_CIRCUMFLEX = new Set(
  ['foo://host/', 'wss://host/'].map((start) => `${start} !"$%&'()*+,-./:;<=>@[\\]^_\`{|}~`),
)

/** Links that Shoal answers differently on purpose. */
const REMAINING: readonly {
  readonly links: readonly (readonly [input: string, base: string])[]
  readonly because: string
}[] = [
  {
    links: [
      ['http://f:0/c', 'http://example.org/foo/bar'],
      ['http://f:00000000000000/c', 'http://example.org/foo/bar'],
    ],
    because: 'no server listens on port 0: refused as bad_url instead of being fetched in vain',
  },
  {
    links: [
      ['http://./', 'about:blank'],
      ['http://../', 'about:blank'],
      ['http://foo.09..', 'about:blank'],
    ],
    because: 'a name with an empty label cannot be looked up: refused as bad_url',
  },
  {
    links: [
      ['#', 'test:test'],
      ['#x', 'mailto:x@x.com'],
      ['#x', 'data:,'],
      ['#x', 'about:blank'],
      ['#', 'test:test?test'],
      ['#i', 'sc:sd'],
      ['#i', 'sc:sd/sd'],
    ],
    because:
      'the fragment is cut off first, and such a base resolves nothing else: refused either way, as bad_url instead of bad_scheme',
  },
]

/** The rate is part of the output of `npm test`; what is left is in a table with its reason. */
function report(
  what: string,
  all: readonly string[],
  failed: readonly string[],
  explained: readonly string[] = [],
): void {
  const passed = all.length - failed.length
  console.log(`URL standard, ${what}: ${passed} of ${all.length} pass (${((100 * passed) / all.length).toFixed(2)} %)`)
  expect(failed).toEqual(expect.arrayContaining([...explained]))
  expect(failed.filter((one) => !explained.includes(one))).toEqual([])
}

it('parses URLs as the standard does', () => {
  const failed = CASES.filter(({ input, base, href }) => (parseUrl(input, base ?? undefined)?.href ?? null) !== href)
  const newer = CASES.filter(({ input }) => ESCAPES_CIRCUMFLEX.has(input))
  report('parser', CASES.map(shown), failed.map(shown), newer.map(shown))
})

it('splits plain URLs as the standard does, and leaves all others to the parser', () => {
  const parse = createPlainParser()
  const absolute = CASES.flatMap(({ input, href }) => (href === null ? [input] : [input, href]))
  const failed = absolute.filter((text) => {
    const plain = parse(text)
    if (plain === null) return false
    const url = parseUrl(text)
    return (
      url === null ||
      (['href', 'protocol', 'host', 'pathname', 'search'] as const).some((part) => plain[part] !== url[part])
    )
  })
  report('plain URLs', absolute, failed)
})

it('resolves links as the standard does', () => {
  const admitter = createAdmitter(RULES)
  const expected = ({ href }: { href: string | null }): string => {
    const url = href === null ? null : parseUrl(href)
    if (url === null) return 'bad_url'
    return isWeb(url) ? canonicalise(url, CANONICAL) : 'bad_scheme'
  }
  const webBase = resolvable.filter(({ base }) => base !== null)
  const failed = webBase.flatMap((one) => {
    // Twice: the second answer comes from the cache.
    const answers = [1, 2].map(() => {
      const admission = admitter.resolve(one.input, one.base ?? '')
      return admission.ok ? admission.target.url : admission.refusal.code
    })
    const right = expected(one)
    return answers.every((answer) => answer === right) ? [] : [shown(one)]
  })
  const explained = REMAINING.flatMap(({ links }) => links.map(([input, base]) => shown({ input, base })))
  report('links', webBase.map(shown), failed, explained)
})

it('encodes queries of ASCII in no encoding but the same', () => {
  const ascii = CASES.filter(({ input }) => /^[ -~]*$/.test(input)).map(({ input }) => input)
  const failed = ascii.filter((input) => encodeQuery(input, { encoding: 'Shift_JIS' }) !== input)
  report('queries', ascii, failed)
})
