import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Admission,
  type AdmitRules,
  createAdmitter,
  DEFAULT_CANONICAL,
  DEFAULT_MAX_DEPTH,
  DEFAULT_MAX_URL_LENGTH,
  DEFAULT_TRAPS,
} from '../../src/url/admit.js'
import { compileCanonical } from '../../src/url/canonicalise.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import { parseUrl } from '../../src/url/parse-url.js'
import { runs } from '../support/longer.js'
import { hostileUrl, webUrl } from './arbitrary-urls.js'

const anything: AdmitRules = {
  hosts: [],
  allow: [],
  deny: [],
  maxDepth: DEFAULT_MAX_DEPTH,
  maxUrlLength: DEFAULT_MAX_URL_LENGTH,
  traps: DEFAULT_TRAPS,
  canonical: DEFAULT_CANONICAL,
  depthPriority: 0,
  pace: { per: 'host', groups: [] },
  routeOf: (url) => (url.pathname.startsWith('/nowhere') ? null : { name: 'page', priority: 5 }),
  priorityOf: (route) => (route === 'page' ? 5 : route === 'book' ? 50 : null),
}
const base = 'https://example.com/shop/books/index.html?page=2'

const answer = (rules: Partial<AdmitRules>, href: string, options?: { route?: string }) => {
  const admission = createAdmitter({ ...anything, ...rules }).resolve(href, base, options)
  return admission.ok ? admission.target.url : admission.refusal.code
}

describe('the pace key of a link', () => {
  const pace = {
    per: 'domain',
    groups: [
      { name: 'api', match: ['/api/**'] },
      { name: 'key', match: [] },
    ],
  } as const
  const door = createAdmitter({ ...anything, pace })
  const keyOf = (href: string, options?: { group?: string }) => {
    const admission = door.resolve(href, base, options)
    return admission.ok ? admission.target.host : admission.refusal.code
  }

  it('comes from the URL, or from who names a group', () => {
    expect(keyOf('https://www.example.com:8443/')).toBe('example.com')
    expect(keyOf('/api/v1')).toBe('@api')
    expect(keyOf('/api/v1', { group: 'key' })).toBe('@key')
    expect(keyOf('/api/v1')).toBe('@api')
    expect(keyOf('/other', { group: 'nobody' })).toBe('no_group')
    expect(door.paceKey(new URL('https://www.example.com/robots.txt'))).toBe('example.com')
  })

  it('makes no other link of it', () => {
    const fps = [undefined, { group: 'key' }].map((options) => {
      const admission = door.resolve('/a', base, options)
      return admission.ok ? admission.target.fp : ''
    })
    expect(fps[0]).toBe(fps[1])
  })
})

describe('resolving', () => {
  it.each([
    ['/a', 'https://example.com/a'],
    ['a', 'https://example.com/shop/books/a'],
    ['./a', 'https://example.com/shop/books/a'],
    ['../a', 'https://example.com/shop/a'],
    ['../../a', 'https://example.com/a'],
    ['../../../../a', 'https://example.com/a'],
    ['../', 'https://example.com/shop/'],
    ['..', 'https://example.com/shop/'],
    ['..//a', 'https://example.com/shop//a'],
    ['../ a', 'https://example.com/shop/%20a'],
    ['../http://x/', 'https://example.com/shop/http://x/'],
    ['', 'https://example.com/shop/books/index.html?page=2'],
    ['#top', 'https://example.com/shop/books/index.html?page=2'],
    ['?page=3', 'https://example.com/shop/books/index.html?page=3'],
    [' ?page=3 ', 'https://example.com/shop/books/index.html?page=3'],
    ['//other.example/a', 'https://other.example/a'],
    ['/\t/other.example/a', 'https://other.example/a'],
    ['\\\\other.example/a', 'https://other.example/a'],
    ['https:a', 'https://example.com/shop/books/a'],
    ['http:a', 'http://a/'],
    ['ht\ntps://other.example/', 'https://other.example/'],
    ['HTTPS://OTHER.example/', 'https://other.example/'],
    ['http://joe:pw@other.example/#x', 'http://other.example/'],
    ['a:b', 'bad_scheme'],
    ['mailto:joe@example.com', 'bad_scheme'],
    ['javascript:void(0)', 'bad_scheme'],
    ['file:///etc/passwd', 'bad_scheme'],
    ['data:text/html,x', 'bad_scheme'],
    ['ftp://example.com/', 'bad_scheme'],
    ['http://', 'bad_url'],
    ['https://exa mple.com/', 'bad_url'],
    ['https://exa\0mple.com/', 'bad_url'],
    ['https://\ud800/', 'bad_url'],
    ['https://example.com:65536/', 'bad_url'],
    ['https://example.com:0/', 'bad_url'],
    ['https://a..example.com/', 'bad_url'],
    ['https://.example.com/', 'bad_url'],
    ['https://example.com../', 'bad_url'],
    [`/${'a'.repeat(2048)}`, 'url_too_long'],
    [`/${'é'.repeat(1000)}`, 'url_too_long'],
    [`/${'a'.repeat(1_000_000)}`, 'url_too_long'],
    ['/a/a/a', 'trap'],
    ['/nowhere', 'no_route'],
  ])('%s is %s', (href, expected) => {
    expect(answer({}, href)).toBe(expected)
  })

  it('takes seeds without a base', () => {
    const door = createAdmitter(anything)
    expect(door.resolve('https://example.com', '')).toMatchObject({ ok: true, target: { url: 'https://example.com/' } })
    expect(door.resolve('example.com', '')).toMatchObject({ ok: false, refusal: { code: 'bad_url' } })
    expect(door.resolve('a', 'about:blank')).toMatchObject({ ok: false, refusal: { code: 'bad_url' } })
  })

  it('refuses what is no text at all', () => {
    expect(answer({}, undefined as unknown as string)).toBe('bad_url')
  })

  it('gives a target with the fingerprint of the URL, its host and its route', () => {
    const url = 'https://example.com:8443/a?b=1'
    expect(createAdmitter(anything).resolve(`${url}&utm_source=x#y`, base)).toEqual({
      ok: true,
      target: { url, fp: fingerprint(url), host: 'example.com:8443', route: 'page', priority: 5 },
      rule: 'dropped_params',
    })
  })

  it('takes the route it is told, also where no pattern matches', () => {
    const door = createAdmitter(anything)
    expect(door.resolve('/nowhere', base)).toMatchObject({ ok: false, refusal: { code: 'no_route' } })
    expect(door.resolve('/nowhere', base, { route: 'book' })).toMatchObject({ target: { route: 'book', priority: 50 } })
    expect(door.resolve('/nowhere', base, { route: 'bok' })).toMatchObject({ refusal: { code: 'no_route' } })
    expect(door.resolve('/a', base)).toMatchObject({ target: { route: 'page', priority: 5 } })
    expect(door.resolve('/a', base, { route: 'book' })).toMatchObject({ target: { route: 'book', priority: 50 } })
    expect(door.resolve('/a', base)).toMatchObject({ target: { route: 'page', priority: 5 } })
  })

  it('fingerprints requests and keys, and does not remember them', () => {
    const door = createAdmitter(anything)
    const url = 'https://example.com/a'
    const request = { method: 'POST', body: 'x' }
    expect(door.resolve('/a', base, { request })).toMatchObject({ target: { fp: fingerprint(url, { request }) } })
    expect(door.resolve('/a', base, { dedupeKey: 'k' })).toMatchObject({
      target: { fp: fingerprint(url, { dedupeKey: 'k' }) },
    })
    expect(door.resolve('/a', base)).toMatchObject({ target: { fp: fingerprint(url) } })
  })

  it('answers the same link with the same object, from whichever page', () => {
    const door = createAdmitter(anything)
    const first = door.resolve('../../nav', base)
    expect(door.resolve('../../nav#x', base)).toBe(first)
    expect(door.resolve('../../../nav', 'https://example.com/a/b/c/d')).toBe(first)
    expect(door.resolve('nav', 'https://example.com/')).toBe(first)
    expect(door.resolve('nav', base)).not.toBe(first)
  })

  it('sees a path that grows with every click', () => {
    const door = createAdmitter(anything)
    let page = 'https://example.com/'
    for (let clicks = 0; clicks < 10; clicks++) {
      const admission = door.resolve('x/y/', page)
      if (!admission.ok) {
        expect(admission.refusal.code).toBe('trap')
        expect(clicks).toBe(2)
        return
      }
      page = admission.target.url
    }
    expect.unreachable()
  })

  it('makes one page of the permutations of its filters and its session ids', () => {
    const door = createAdmitter(anything)
    const ids = ['?a=1&b=2', '?b=2&a=1', ';jsessionid=77?a=1&b=2', '?b=2&PHPSESSID=1234&a=1'].map((tail) => {
      const admission = door.resolve(`/list${tail}`, base)
      return admission.ok && admission.target.fp
    })
    expect(new Set(ids).size).toBe(1)
  })

  it('refuses a URL on which the rewrite throws, and judges what the rewrite made', () => {
    const rewrite = (url: URL) => {
      if (url.pathname === '/throw') throw new Error('no')
      if (url.pathname === '/away') url.hostname = 'other.example'
      if (url.pathname === '/zero') url.port = '0'
    }
    const rules = { canonical: { ...DEFAULT_CANONICAL, rewrite }, hosts: ['example.com'] }
    expect(answer(rules, '/throw')).toBe('bad_url')
    expect(answer(rules, '/zero')).toBe('bad_url')
    expect(answer(rules, '/away')).toBe('out_of_scope')
    expect(answer(rules, '/stay')).toBe('https://example.com/stay')
  })
})

describe('scope', () => {
  it.each([
    ['example.com', 'https://example.com/', true],
    ['EXAMPLE.com', 'https://example.com:8443/', true],
    ['example.com', 'https://example.com./', true],
    ['example.com', 'https://www.example.com/', false],
    ['example.com', 'https://notexample.com/', false],
    ['example.com', 'https://example.com@evil.example/', false],
    ['good.com', 'http://good.com\\@127.0.0.1/', true],
    ['good.com', 'http://good.com%2f@127.0.0.1/', false],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['example.com:8443', 'https://example.com/', false],
    ['example.com:443', 'https://example.com/', true],
    ['example.com:443', 'http://example.com/', false],
    ['*.example.com', 'https://www.example.com/', true],
    ['*.example.com', 'https://a.b.example.com:8080/', true],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://notexample.com/', false],
    ['*.example.com:80', 'http://www.example.com/', true],
    ['*.example.com:80', 'http://www.example.com:8080/', false],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
    ['127.0.0.1', 'http://0x7f.1:3000/', true],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000/', true],
    ['[::1]', 'http://[::1]:3000/', true],
    ['[::1]:3000', 'http://[0:0::1]:3000/', true],
  ])('hosts: %s, %s: %s', (entry, href, inside) => {
    expect(answer({ hosts: [entry] }, href) !== 'out_of_scope').toBe(inside)
  })

  it.each(['', 'https://example.com', 'exa mple.com', 'a/b', 'joe@example.com', '*', 'a.*.b', 'example.com:'])(
    '%j is no host',
    (entry) => {
      expect(() => createAdmitter({ ...anything, hosts: [entry] })).toThrow(
        expect.objectContaining({ code: 'spider_invalid' }),
      )
    },
  )

  it('allows what one pattern allows and none denies, on the canonical URL', () => {
    const rules = { allow: [/\/a/g, '/b/*'], deny: [/a\/secret/g] }
    for (let again = 0; again < 2; again++) {
      expect(answer(rules, '/a/x?utm_source=y')).toBe('https://example.com/a/x')
      expect(answer(rules, '/b/x')).toBe('https://example.com/b/x')
      expect(answer(rules, '/%61/secret')).toBe('out_of_scope')
      expect(answer(rules, '/c')).toBe('out_of_scope')
    }
  })
})

describe('what the filter did', () => {
  const reasonOf = (href: string, rules: Partial<AdmitRules> = {}) => {
    const admission = createAdmitter({ ...anything, ...rules }).resolve(href, base)
    return admission.ok ? admission.rule : admission.refusal.reason
  }

  it('is part of the answer, also of a remembered one', () => {
    const door = createAdmitter(anything)
    for (const [href, reason] of [
      ['/a?b=1&a=1', 'param_order'],
      ['/a?PHPSESSID=1', 'session_id'],
      ['/a?c=1', null],
    ])
      for (let times = 0; times < 2; times++) {
        expect(door.resolve(href ?? '', base)).toMatchObject({ rule: reason })
        expect(door.resolve(href ?? '', base, { dedupeKey: 'k' })).toMatchObject({ rule: reason })
      }
  })

  it('names the kind of a trap, and the code of everything else', () => {
    expect(reasonOf('/a/a/a')).toBe('trap_repeats')
    expect(reasonOf('/calendar/2150/03')).toBe('trap_calendar')
    expect(reasonOf('mailto:joe@example.com')).toBe('bad_scheme')
    expect(reasonOf('/x', { hosts: ['x.example'] })).toBe('out_of_scope')
    expect(reasonOf(`/${'a'.repeat(3000)}`)).toBe('url_too_long')
    expect(reasonOf('/nowhere')).toBe('no_route')
    expect(reasonOf('/a?b=1&a=1&utm_source=x', { hosts: ['x.example'] })).toBe('out_of_scope')
  })
})

describe('refusals', () => {
  const message = (href: string, rules: Partial<AdmitRules> = {}) => {
    const admission = createAdmitter({ ...anything, ...rules }).resolve(href, base)
    return admission.ok ? '' : admission.refusal.message
  }

  it('name the limit and the URL', () => {
    expect(message('/a/a/a')).toBe(
      'The path repeats itself more often than scope.traps.maxRepeat (2): https://example.com/a/a/a',
    )
    expect(message(`/${'a'.repeat(1_000_000)}`)).toMatch(
      /^1000001 characters are more than scope.maxUrlLength \(2048\): \/a+…$/,
    )
    expect(message('/x', { hosts: ['x.example'] })).toBe(
      'Out of scope, host example.com is not in scope.hosts: https://example.com/x',
    )
  })

  it('never hold a password, a control character or a long text', () => {
    expect(message('http://joe:secret@exa mple.com/')).toBe('It is not a URL: http://exa mple.com/')
    expect(message('ht\ntp:/\t/joe:secret@exa mple.com/')).not.toContain('secret')
    expect(message('https://joe:secret@example.com/a/a/a')).not.toContain('secret')
    expect(message('ftp://joe:secret@example.com/')).not.toContain('secret')
    expect(message('https://\x1b[31m\u202e/')).toBe('It is not a URL: https://\\u{1b}[31m\\u{202e}/')
    expect(message(`https:// ${'a'.repeat(2000)}`).length).toBeLessThan(230)
  })
})

describe('link', () => {
  const target = {
    url: 'https://example.com/a',
    fp: '0123456789abcdef',
    host: 'example.com',
    route: 'page',
    priority: 5,
  }
  const door = createAdmitter({ ...anything, maxDepth: 3, depthPriority: -2 })

  it('carries the options and nothing else', () => {
    const { priority: _, ...rest } = target
    expect(door.link(target, 0)).toStrictEqual({ ...rest, depth: 0, priority: 5 })
    expect(door.link(target, 1, { route: 'page', dedupeKey: 'k' })).toStrictEqual({ ...rest, depth: 1, priority: 3 })
    const options = { data: null, request: { method: 'POST' }, delayMs: 0 }
    expect(door.link(target, 0, options)).toStrictEqual({ ...rest, depth: 0, priority: 5, ...options })
  })

  it.each([
    [undefined, 2, 1],
    [50, 3, 44],
    [1000, 0, 100],
    [-1000, 0, -100],
    [Number.NaN, 0, 0],
    [0.6, 0, 1],
  ])('priority %s at depth %s is %s', (priority, depth, expected) => {
    expect(door.link(target, depth, priority === undefined ? {} : { priority })).toMatchObject({ priority: expected })
  })

  it('ends at the depth that is allowed', () => {
    expect(door.link(target, 3)).toMatchObject({ depth: 3 })
    expect(door.link(target, 4)).toEqual({
      code: 'too_deep',
      reason: 'too_deep',
      message: 'Depth 4 is more than scope.maxDepth (3): https://example.com/a',
    })
  })
})

describe('properties', () => {
  const bases = fc.oneof(
    fc.constantFrom(
      base,
      'https://example.com/',
      'http://example.com/a//b/',
      'https://joe@example.com/x/y',
      'about:blank',
      '',
    ),
    webUrl,
  )
  const hrefs = fc.oneof(webUrl, hostileUrl, fc.constantFrom('a', '/a', '../a', '?a', '', '#a'))
  const loose = { ...anything, traps: { ...DEFAULT_TRAPS, maxRepeat: 100 } }

  it('what is admitted is http or https, without user info and fragment, and not too long', () => {
    fc.assert(
      fc.property(hrefs, bases, (href, page) => {
        const admission = createAdmitter({ ...loose, maxUrlLength: 60 }).resolve(href, page)
        if (!admission.ok) return
        const url = new URL(admission.target.url)
        expect(url.protocol).toMatch(/^https?:$/)
        expect([url.username, url.password, url.hash]).toEqual(['', '', ''])
        expect(url.href).toBe(admission.target.url)
        expect(url.href.length).toBeLessThanOrEqual(60)
        expect(url.host).toBe(admission.target.host)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('what is remembered is what a URL parser says', () => {
    const door = createAdmitter(loose)
    const canonical = compileCanonical(DEFAULT_CANONICAL, true)
    fc.assert(
      fc.property(hrefs, bases, fc.constantFrom(undefined, 'book'), (href, page, route) => {
        const options = route === undefined ? {} : { route }
        const first = door.resolve(href, page, options)
        expect(door.resolve(href, page, options)).toBe(first)
        expect(createAdmitter(loose).resolve(href, page, options)).toEqual(first)
        expect(expected(href, page, (url) => canonical(url).text)).toBe(textOf(first))
      }),
      { numRuns: runs(10_000) },
    )
  })

  function textOf(admission: Admission): string {
    if (admission.ok) return admission.target.url
    return ['bad_url', 'bad_scheme'].includes(admission.refusal.code) ? 'refused' : 'no matter'
  }

  function expected(href: string, page: string, canonical: (url: URL) => string): string {
    const url = parseUrl(href, /^https?:\/\//.test(href) ? undefined : page)
    if (url === null) return 'refused'
    const noName = url.hostname
      .replace(/([^.])\.$/, '$1')
      .split('.')
      .includes('')
    if (!/^https?:$/.test(url.protocol) || url.port === '0' || noName) return 'refused'
    return canonical(url)
  }

  it('forgets, and answers as before', () => {
    const door = createAdmitter(anything)
    const first = door.resolve('/a', base)
    for (let i = 0; i < 60_000; i++) door.resolve(`/p${i}`, base)
    const again = door.resolve('/a', base)
    expect(again).toEqual(first)
    expect(again).not.toBe(first)
  })
})
