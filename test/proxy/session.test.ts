import { describe, expect, it } from 'vitest'
import { ManualClock, seededRandom } from '../../src/clock.js'
import { createCookies } from '../../src/proxy/cookies.js'
import { createSessions, type SessionRules } from '../../src/proxy/session.js'

const PLACE = { spider: 's', pool: 'p', site: 'shop.example' }
const RULES: SessionRules = { rotation: { requests: 3, timeMs: 60_000 }, cookies: true, userAgents: ['A/1', 'B/1'] }

function sessions(most?: number) {
  const clock = new ManualClock()
  return { clock, all: createSessions(clock, seededRandom(5), most) }
}

describe('a session', () => {
  it('keeps proxy, cookies and user agent together, and ends after its requests', () => {
    const { all } = sessions()
    const first = all.use(PLACE, 'a', RULES)
    first.cookies?.take('https://shop.example/', ['sid=1'])
    expect(all.use(PLACE, 'a', RULES)).toBe(first)
    expect(all.live(PLACE)).toEqual(['a'])
    expect(all.use(PLACE, 'a', RULES)).toBe(first)
    expect(all.live(PLACE)).toEqual([])
    const next = all.use(PLACE, 'a', RULES)
    expect(next).not.toBe(first)
    expect(next.cookies?.headerFor('https://shop.example/')).toBe('')
    expect(['A/1', 'B/1']).toContain(next.userAgent)
  })

  it('ends after its time, by a ban, and belongs to one spider, pool and site', () => {
    const { all, clock } = sessions()
    const first = all.use(PLACE, 'a', RULES)
    expect(all.live({ ...PLACE, site: 'other.example' })).toEqual([])
    expect(all.use({ ...PLACE, spider: 't' }, 'a', RULES)).not.toBe(first)
    clock.advance(60_000)
    expect(all.live(PLACE)).toEqual([])
    const second = all.use(PLACE, 'a', RULES)
    expect(second).not.toBe(first)
    all.end(PLACE, 'a')
    expect(all.live(PLACE)).toEqual([])
    expect(all.use(PLACE, 'a', RULES)).not.toBe(second)
  })

  it('is forgotten when there are too many, the least lately used first', () => {
    const { all } = sessions(2)
    const a = all.use(PLACE, 'a', RULES)
    all.use(PLACE, 'b', RULES)
    expect(all.use(PLACE, 'a', RULES)).toBe(a)
    all.use(PLACE, 'c', RULES)
    expect(all.live(PLACE).toSorted()).toEqual(['a', 'c'])
  })

  it('keeps no cookies and no user agent of its own unless it should', () => {
    const { all } = sessions()
    expect(all.use(PLACE, 'a', { ...RULES, cookies: false, userAgents: [] })).toMatchObject({
      cookies: null,
      userAgent: null,
    })
  })

  it('logs in once, for all who wait', async () => {
    const { all } = sessions()
    const session = all.use(PLACE, 'a', RULES)
    let logins = 0
    const login = async () => {
      logins++
    }
    await Promise.all([session.logIn(login), session.logIn(login)])
    await session.logIn(login)
    expect(logins).toBe(1)
    expect(session.loggedIn).toBe(true)
  })

  it('ends when the login fails', async () => {
    const { all } = sessions()
    const session = all.use(PLACE, 'a', RULES)
    const login = () => Promise.reject(new Error('wrong password'))
    const tried = await Promise.allSettled([session.logIn(login), session.logIn(login)])
    expect(tried.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(all.live(PLACE)).toEqual([])
    expect(all.use(PLACE, 'a', RULES)).not.toBe(session)
  })
})

describe('cookies', () => {
  const made = () => createCookies(new ManualClock(Date.now()))
  const sent = (from: string, lines: string[], to: string) => {
    const cookies = made()
    cookies.take(from, lines)
    return cookies.headerFor(to)
  }

  it.each([
    ['https://shop.example/', 'a=1', 'https://shop.example/x', 'a=1'],
    ['https://shop.example/', 'a=1', 'https://www.shop.example/', ''],
    ['https://www.shop.example/', 'a=1; Domain=shop.example', 'https://api.shop.example/', 'a=1'],
    ['https://shop.example/', 'a=1; Path=/cart', 'https://shop.example/cart/1', 'a=1'],
    ['https://shop.example/', 'a=1; Path=/cart', 'https://shop.example/cartoons', ''],
    ['https://shop.example/', 'a=1; Secure', 'http://shop.example/', ''],
    ['https://shop.example/', 'a=1; Max-Age=0', 'https://shop.example/', ''],
    ['http://127.0.0.1:8080/', 'a=1', 'http://127.0.0.1:8080/', 'a=1'],
    ['http://127.0.0.1:8080/', 'a=1', 'http://127.0.0.2:8080/', ''],
  ])('of %s: %s, asked for at %s, are "%s"', (from, line, to, header) => {
    expect(sent(from, [line], to)).toBe(header)
  })

  it.each([
    ['for another site', 'a=1; Domain=victim.example'],
    ['for a public suffix', 'a=1; Domain=co.uk'],
    ['for a whole domain of strangers', 'a=1; Domain=github.io'],
    ['too large', `a=${'x'.repeat(5000)}`],
    ['with a prefix it has no right to', '__Host-a=1; Path=/; Domain=evil.co.uk; Secure'],
    ['that is none', ';;;'],
    ['empty', ''],
    ['with controls', 'a=\u0000b\r\nx-evil: 1'],
    ['that no header can carry', 'a=\u2603'],
  ])('%s are left out', (_what, line) => {
    expect(sent('https://evil.co.uk/', [line], 'https://evil.co.uk/')).toBe('')
    expect(sent('https://evil.github.io/', [line], 'https://evil.github.io/')).toBe('')
    expect(sent('https://evil.co.uk/', [line], 'https://victim.example/')).toBe('')
  })

  it.each([['Max-Age=60'], ['Expires=Thu, 01 Jan 1970 00:01:00 GMT']])(
    'with %s end by the clock of the worker, however often they are sent',
    (attribute) => {
      const clock = new ManualClock(1)
      const cookies = createCookies(clock)
      cookies.take('https://shop.example/', [`a=1; ${attribute}`])
      for (const ms of [30_000, 29_000]) {
        clock.advance(ms)
        expect(cookies.headerFor('https://shop.example/')).toBe('a=1')
      }
      clock.advance(1_000)
      expect(cookies.headerFor('https://shop.example/')).toBe('')
    },
  )

  it('that are Secure cannot be set in the clear', () => {
    expect(sent('http://shop.example/', ['a=1; Secure'], 'https://shop.example/')).toBe('')
  })

  it('do not grow without end, in the jar or in the header', () => {
    const cookies = made()
    for (let page = 0; page < 100; page++) {
      const lines = Array.from({ length: 60 }, (_, index) => `c${page}-${index}=${'v'.repeat(200)}`)
      cookies.take('https://shop.example/', lines)
    }
    const header = cookies.headerFor('https://shop.example/')
    expect(header.length).toBeGreaterThan(1_000)
    expect(header.length).toBeLessThanOrEqual(8_192)
  })
})
