import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { parseRobots, ROBOTS_MAX_BYTES, robotsFor, robotsOf } from '../../src/politeness/robots.js'
import { runs } from '../support/longer.js'

const file = (...lines: string[]) => lines.join('\n')
const allows = (robots: string | Uint8Array, path: string, agent = 'FooBot') => parseRobots(robots, agent).allows(path)

/** Rules for everybody, then paths that may and may not be fetched. */
type Case = [rules: string[], allowed: string[], refused: string[]]

describe('matching', () => {
  it.each<Case>([
    [[], ['/', '/x'], []],
    [['Disallow: /'], [], ['/', '/x?y']],
    [['Disallow:'], ['/', '/x'], []],
    [['Disallow:', 'Allow:'], ['/', '/x'], []],
    [['disallow: /x/'], ['/X/y', '/x', '/'], ['/x/', '/x/y']],
    // The longest match decides, and allow wins a tie, whatever the order.
    [['Disallow: /x/page.html', 'Allow: /x/'], ['/x/', '/x/other'], ['/x/page.html']],
    [['Allow: /x/page.html', 'Disallow: /x/'], ['/x/page.html'], ['/x/']],
    [['Disallow: /', 'Allow: /'], ['/', '/x'], []],
    [['Disallow: /x', 'Allow: /x/'], ['/x/'], ['/x']],
    [['Allow: /folder', 'Disallow: /folder'], ['/folder/page'], []],
    [['Allow: /p', 'Disallow: /'], ['/page'], ['/other']],
    [['Allow: /page', 'Disallow: /*.html'], ['/page'], ['/page.html']],
    [['Allow: /x/page.', 'Disallow: /*.html'], ['/x/page.html'], ['/x/y.html']],
    [['Allow: /page', 'Disallow: /*.htm'], ['/page'], ['/page.htm']],
    [['Allow: /$', 'Disallow: /'], ['/'], ['/page.html', '/?q']],
    // Prefixes
    [
      ['Disallow: /', 'Allow: /fish'],
      ['/fish', '/fish.html', '/fish/s', '/fishheads', '/fish?id=1'],
      ['/Fish.asp', '/catfish', '/?id=fish', '/bar'],
    ],
    [
      ['Disallow: /', 'Allow: /fish*'],
      ['/fish', '/fish.html', '/fish/s', '/fishheads', '/fish?id=1'],
      ['/Fish.asp', '/catfish', '/?id=fish', '/bar'],
    ],
    [
      ['Disallow: /', 'Allow: /fish/'],
      ['/fish/', '/fish/?id=1', '/fish/s.htm'],
      ['/fish', '/fish.html', '/Fish/s'],
    ],
    // Wildcards
    [
      ['Disallow: /', 'Allow: /*.php'],
      ['/f.php', '/d/f.php', '/d/f.php?x', '//d/any.php.f.html', '/f.php/', '/i?f=f.php/'],
      ['/bar', '/php/', '/i?php', '/w.PHP'],
    ],
    [
      ['Disallow: /', 'Allow: /*.php$'],
      ['/f.php', '/d/f.php', '/a.php.php'],
      ['/f.php?x', '/f.php/', '/f.php5', '/php/', '/f?php', '/aphpa', '/w.PHP'],
    ],
    [
      ['Disallow: /', 'Allow: /fish*.php'],
      ['/fish.php', '/fishheads/catfish.php?x'],
      ['/Fish.PHP', '/fish'],
    ],
    [['Disallow: /foo/bar/quz', 'Allow: /foo/*/qux'], ['/foo/quz', '/foo//quz', '/foo/bax/quz'], ['/foo/bar/quz']],
    [['Disallow: /foo/bar$', 'Allow: /foo/bar/qux'], ['/foo/bar/qux', '/foo/bar/', '/foo/bar/baz'], ['/foo/bar']],
    [['Disallow: *'], [], ['/', '/x']],
    [['Disallow: *.pdf$'], ['/a.pdf?x'], ['/a.pdf', '/b/a.pdf']],
    [['Disallow: /a**b'], ['/a', '/ba'], ['/ab', '/axb']],
    [['Disallow: /*ab*ab$'], ['/ab', '/abxab/'], ['/abab', '/abxab']],
    [['Disallow: /a$b'], ['/a', '/ab'], ['/a$b', '/a%24b']],
    [['Disallow: foo'], ['/foo', '/'], []],
    // Comments
    [['# Disallow: /', 'Disallow: /foo/quz#qux', 'Allow: /'], ['/foo/bar'], ['/foo/quz', '/foo/quzzz']],
    // Encodings
    [
      ['Disallow: /', 'Allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par'],
      ['/foo/bar?qux=taz&baz=http://foo.bar?tar&par'],
      ['/foo/bar?qux'],
    ],
    [['Disallow: /', 'Allow: /foo/ツ'], ['/foo/%E3%83%84', '/foo/%e3%83%84', '/foo/ツ'], ['/foo/%E3']],
    [['Disallow: /', 'Allow: /foo/%E3%83%84'], ['/foo/%E3%83%84', '/foo/ツ'], ['/foo/']],
    [['Disallow: /', 'Allow: /%62%61%7A'], ['/baz', '/%62az'], ['/bar']],
    [['Disallow: /a%2fb'], ['/a/b'], ['/a%2Fb']],
    [['Disallow: /a b'], ['/a'], ['/a%20b']],
    [['Disallow: /with-a-%2A.html'], ['/with-a-x.html'], ['/with-a-*.html', '/with-a-%2a.html']],
    [['Disallow: /100%'], ['/100'], ['/100%', '/100%zz']],
    // Whoever allows a directory's index allows the directory.
    [
      ['Allow: /d/index.html', 'Disallow: /'],
      ['/d/', '/d/index.html'],
      ['/d/index.htm', '/d/x', '/'],
    ],
  ])('%j', (rules, allowed, refused) => {
    const robots = file('User-agent: *', ...rules)
    expect(allowed.filter((path) => !allows(robots, path))).toEqual([])
    expect(refused.filter((path) => allows(robots, path))).toEqual([])
  })

  it('agrees with a regular expression on small patterns', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '/', '$'), maxLength: 8 })
    const paths = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 10 })
    fc.assert(
      fc.property(letters, paths, (pattern, path) => {
        const anchored = pattern.endsWith('$')
        const body = (anchored ? pattern.slice(0, -1) : pattern).replaceAll('$', '\\$').replaceAll('*', '.*')
        const expected = new RegExp(`^/${body}${anchored ? '$' : ''}`).test(`/${path}`)
        expect(!allows(file('User-agent: *', `Disallow: /${pattern}`), `/${path}`)).toBe(expected)
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('is linear in the number of wildcards', () => {
    const pattern = `/${'*a'.repeat(500)}*b`
    const robots = parseRobots(file('User-agent: *', `Disallow: ${pattern}`), 'x')
    const path = `/${'a'.repeat(2_000)}`
    const work = () => robots.allows(path)
    expect(work()).toBe(true)
    // A backtracking matcher would not come back at all; a generous count of repetitions shows the order of magnitude.
    for (let i = 0; i < 200; i++) work()
  })
})

describe('groups', () => {
  const groups = file(
    'allow: /foo/bar/',
    '',
    'user-agent: FooBot',
    'disallow: /',
    'allow: /x/',
    'user-agent: BarBot',
    'disallow: /',
    'allow: /y/',
    '',
    '',
    'allow: /w/',
    'user-agent: BazBot',
    '',
    'user-agent: FooBot',
    'allow: /z/',
    'disallow: /',
  )

  it.each([
    ['FooBot', '/x/b', true],
    ['FooBot', '/z/d', true],
    ['FooBot', '/y/c', false],
    ['BarBot', '/y/c', true],
    ['BarBot', '/w/a', true],
    ['BarBot', '/z/d', false],
    ['BazBot', '/z/d', true],
    ['FooBot', '/foo/bar/', false],
    ['BarBot', '/foo/bar/', false],
    ['BazBot', '/foo/bar/', false],
    ['QuxBot', '/anything', true],
  ])('%s %s → %s', (agent, path, allowed) => {
    expect(allows(groups, path, agent)).toBe(allowed)
  })

  it('own groups are merged and win over the one for everybody, even when they are empty', () => {
    const robots = file('User-agent: *', 'Disallow: /x/', 'User-agent: FooBot', 'Disallow: /y/')
    expect(allows(robots, '/x/page')).toBe(true)
    expect(allows(robots, '/y/page')).toBe(false)
    expect(allows(robots, '/x/page', 'BarBot')).toBe(false)
    const empty = file('User-agent: *', 'Disallow: /', 'User-agent: FooBot', 'Disallow:')
    expect(allows(empty, '/x')).toBe(true)
  })

  it.each([
    ['FooBot', 'foobot'],
    ['FOOBOT', 'FooBot'],
    ['FooBot/2.1', 'FooBot'],
    ['FooBot (some words)', 'FooBot'],
    ['FooBot', 'FooBot/1.0 (+https://example.org)'],
    ['foo-bot_x', 'Foo-Bot_X/1'],
  ])('a line for %s speaks to %s', (line, agent) => {
    expect(allows(file(`User-agent: ${line}`, 'Disallow: /'), '/x', agent)).toBe(false)
  })

  it.each([
    ['FooBotX', 'FooBot'],
    ['Foo', 'FooBot'],
    ['ツ', 'FooBot'],
    ['', ''],
    ['', 'FooBot'],
    ['*Bot', 'FooBot'],
  ])('a line for "%s" does not speak to "%s"', (line, agent) => {
    expect(allows(file(`User-agent: ${line}`, 'Disallow: /'), '/x', agent)).toBe(true)
  })

  it('lines of other kinds do not end the list of agents', () => {
    const robots = file(
      'User-agent: FooBot',
      'Sitemap: https://x.test/s.xml',
      'Unknown: 1',
      'Crawl-delay: 2',
      'User-agent: BarBot',
      'Disallow: /',
    )
    expect(allows(robots, '/x', 'FooBot')).toBe(false)
    expect(allows(robots, '/x', 'BarBot')).toBe(false)
  })
})

describe('the file', () => {
  const lines = ['USER-AGENT: foobot', 'aLLoW: /x/', 'DisAllow : /']

  it.each(['\n', '\r', '\r\n', '\n\r\n', '   \n\t'])('line ends %j, any case, spaces around', (end) => {
    for (const text of [lines.join(end), lines.join(end) + end]) {
      expect(allows(text, '/x/y')).toBe(true)
      expect(allows(text, '/a')).toBe(false)
    }
  })

  it.each([
    ['a byte order mark', [0xef, 0xbb, 0xbf], false],
    ['two bytes of one', [0xef, 0xbb], false],
    ['one byte of one', [0xef], false],
    ['a broken one', [0xef, 0x11, 0xbf], true],
  ])('%s', (_, mark, allowed) => {
    const bytes = Buffer.concat([Buffer.from(mark), Buffer.from('User-agent: *\nDisallow: /\n')])
    expect(allows(bytes, '/')).toBe(allowed)
  })

  it('a mark in the middle spoils its line only', () => {
    expect(allows(file('User-agent: *', '\uFEFF!Disallow: /x', 'Disallow: /y'), '/x')).toBe(true)
    expect(allows(file('User-agent: *', '\uFEFF!Disallow: /x', 'Disallow: /y'), '/y')).toBe(false)
  })

  it('UTF-16 with its mark is read', () => {
    expect(allows(Buffer.from('\uFEFFUser-agent: *\nDisallow: /x\n', 'utf16le'), '/x')).toBe(false)
  })

  it('missing colons and common misspellings are understood', () => {
    expect(allows(file('user-agent FooBot', 'disallow /'), '/x')).toBe(false)
    expect(allows(file('useragent: FooBot', 'dissallow: /'), '/x')).toBe(false)
    expect(allows(file('foo: FooBot', 'bar: /'), '/x')).toBe(true)
    expect(allows(file('User-agent: *', 'disallow the whole site'), '/x')).toBe(true)
  })

  it('a page of HTML or noise allows everything', () => {
    expect(allows('<!doctype html><p>404: not found</p>', '/x')).toBe(true)
    expect(allows(Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7) % 256)), '/x')).toBe(true)
    expect(allows('User-agent: *\0\nDisallow: /x\0', '/x')).toBe(true)
  })

  it('reads 500 KiB and drops the line that was cut', () => {
    const filler = '#'.repeat(ROBOTS_MAX_BYTES - 'User-agent: *\nDisallow: /a\n\nDisallow: /'.length)
    const text = `User-agent: *\nDisallow: /a\n${filler}\nDisallow: /private\nDisallow: /late\n`
    for (const given of [text, Buffer.from(text)]) {
      expect(allows(given, '/a')).toBe(false)
      expect(allows(given, '/other')).toBe(true)
      expect(allows(given, '/late')).toBe(true)
    }
  })

  it('an overlong line is cut, not dropped', () => {
    const long = `/x/${'a'.repeat(2_083 * 8)}`
    expect(allows(file('User-agent: *', `Disallow: ${long}/qux`), `${long}/fux`)).toBe(false)
    expect(allows(file('User-agent: *', `Disallow: ${long}/qux`), '/fux')).toBe(true)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.webUrl(), (bytes, url) => {
        expect(typeof allows(bytes, new URL(url).pathname)).toBe('boolean')
      }),
    )
    const word = fc.constantFrom(
      'User-agent:',
      'Disallow:',
      'Allow:',
      ' ',
      '*',
      '$',
      '/',
      '%',
      '%zz',
      '%41',
      '\n',
      '\r',
      '#',
      'FooBot',
      '\ud800',
    )
    fc.assert(
      fc.property(
        fc.array(word).map((words) => words.join('')),
        (text) => {
          expect(typeof allows(text, '/a%2Fb')).toBe('boolean')
        },
      ),
    )
  })
})

describe('other lines', () => {
  it.each<[string, number | null]>([
    ['1', 1_000],
    ['0.5', 500],
    ['0', 0],
    ['-1', null],
    ['1e9', 300_000],
    ['999999', 300_000],
    ['abc', null],
    ['', null],
    ['NaN', null],
  ])('Crawl-delay: %s → %s', (value, ms) => {
    expect(parseRobots(file('User-agent: *', `Crawl-delay: ${value}`), 'x').crawlDelayMs).toBe(ms)
  })

  it('the delay is the one of our group', () => {
    const robots = file(
      'User-agent: *',
      'Crawl-delay: 9',
      'Disallow:',
      'User-agent: FooBot',
      'Crawl-delay: 2',
      'Disallow:',
    )
    expect(parseRobots(robots, 'FooBot').crawlDelayMs).toBe(2_000)
    expect(parseRobots(robots, 'BarBot').crawlDelayMs).toBe(9_000)
  })

  it('sitemaps are read wherever they stand, a thousand at most', () => {
    const robots = file(
      'Sitemap: https://x.test/a.xml',
      'User-agent: y',
      'Disallow: /',
      'SITEMAP:https://x.test/b.xml',
      'Site-map:',
    )
    expect(parseRobots(robots, 'x').sitemaps).toEqual(['https://x.test/a.xml', 'https://x.test/b.xml'])
    expect(parseRobots('Sitemap: https://x.test/\n'.repeat(2_000), 'x').sitemaps.length).toBe(1_000)
  })
})

describe('robotsFor', () => {
  const body = Buffer.from('User-agent: *\nDisallow: /x')
  const decide = (status: number) => {
    const decision = robotsFor({ kind: 'response', response: { status, body } }, 'FooBot')
    if (decision.kind !== 'rules') return decision.kind
    return robotsOf(decision.part).allows('/x') ? 'allows all' : 'parsed'
  }

  it.each([
    ...[200, 204, 206].map((status) => [status, 'parsed'] as const),
    ...[301, 304, 400, 404, 410, 451].map((status) => [status, 'none'] as const),
    ...[401, 403].map((status) => [status, 'denied'] as const),
    ...[429, 500, 502, 503, 504, 599].map((status) => [status, 'unreachable'] as const),
  ])('%i → %s', (status, expected) => {
    expect(decide(status)).toBe(expected)
  })

  it.each([
    ['too_many_redirects', 'none'],
    ['bad_redirect', 'none'],
    ['bad_scheme', 'none'],
    ['timeout', 'unreachable'],
    ['connect_error', 'unreachable'],
    ['dns_error', 'unreachable'],
    ['truncated', 'unreachable'],
    ['protocol_error', 'unreachable'],
    ['too_large', 'unreachable'],
    ['throttled', 'unreachable'],
    ['server_error', 'unreachable'],
    ['private_address', 'hopeless'],
    ['blocked_port', 'hopeless'],
    ['dns_not_found', 'hopeless'],
    ['tls_error', 'hopeless'],
  ] as const)('%s → %s', (code, kind) => {
    expect(robotsFor({ kind: 'error', error: new ShoalError(code, '') }, 'FooBot').kind).toBe(kind)
  })
})
