import { describe, expect, it } from 'vitest'
import { DEFAULT_TRAPS, trapIn } from '../../src/url/traps.js'

function guardOf(path: string, rules = DEFAULT_TRAPS): string | null {
  const { pathname, search } = new URL(path, 'https://x.example')
  return /scope\.traps\.(\w+)/.exec(trapIn(pathname, search, rules)?.message ?? '')?.[1] ?? null
}

describe('traps', () => {
  it.each([
    [Array.from({ length: 31 }, (_, i) => `/s${i}`).join(''), 'maxSegments'],
    ['/a/a/a', 'maxRepeat'],
    ['/x/a/a/a/y', 'maxRepeat'],
    ['/a/b/a/b/a/b', 'maxRepeat'],
    ['/x/y/x/y/x/y/', 'maxRepeat'],
    ['/q/a/b/c/a/b/c/a/b/c/z', 'maxRepeat'],
    ['/a////b', 'maxRepeat'],
    [`/?${Array.from({ length: 21 }, (_, i) => `p${i}=1`).join('&')}`, 'maxParams'],
    ['/(S(lit3py55t21z5v55vlm25s55))/a.aspx', 'sessionIds'],
    ['/(X(1)S(lit3py55t21z5v55vlm25s55))/a.aspx', 'sessionIds'],
    ['/PHPSESSID=0123456789abcdef/a', 'sessionIds'],
    ['/jsessionid:0123456789abcdef', 'sessionIds'],
    ['/2150/03/17/', 'calendars'],
    ['/archive/1750-03-17', 'calendars'],
    ['/calendar/2150/03', 'calendars'],
    ['/events/month/2150-3', 'calendars'],
    ['/?date=2150-03-17', 'calendars'],
    ['/?event_date=12024-03', 'calendars'],
    ['/?day=21500317', 'calendars'],
    ['/?year=2101', 'calendars'],
    ['/?year=1899', 'calendars'],
  ])('%s runs into %s', (path, guard) => {
    expect(guardOf(path)).toBe(guard)
    expect(guardOf(path, { ...DEFAULT_TRAPS, sessionIds: false, calendars: false })).toBe(
      guard === 'sessionIds' || guard === 'calendars' ? null : guard,
    )
  })

  it.each([
    '/',
    Array.from({ length: 30 }, (_, i) => `/s${i}`).join(''),
    '/a/a',
    '/a/b/a/b',
    '/a/b/a/c/a/d/a',
    '/item/4711/12',
    '/4711-12-x',
    '/1987/05/12/an-old-paper',
    '/calendar/2027/03',
    '/calendar/',
    '/?date=1945-05-08',
    '/?year=24',
    '/?end_date=9999-12-31',
    '/?birth_year=1850',
    '/?update=3000-01',
    '/?sid=12',
    '/sid=0123456789abcdef/a',
    '/sessionid,0123456789abcdef',
  ])('%s is a page', (path) => {
    expect(guardOf(path)).toBeNull()
  })

  it('lets through as many repetitions as allowed', () => {
    expect(guardOf('/a/a/a/a', { ...DEFAULT_TRAPS, maxRepeat: 4 })).toBeNull()
    expect(guardOf('/a/a/a/a/a', { ...DEFAULT_TRAPS, maxRepeat: 4 })).toBe('maxRepeat')
  })

  it('rejects a path that only looks like one with a session id when told to', () => {
    const likely = { ...DEFAULT_TRAPS, sessionIds: 'likely' } as const
    expect(guardOf('/sid=0123456789abcdef/a', likely)).toBe('sessionIds')
    expect(guardOf('/PHPSESSID=0123456789abcdef/a', likely)).toBe('sessionIds')
    expect(guardOf('/sid=12/a', likely)).toBeNull()
  })

  it.each([
    [Array.from({ length: 31 }, (_, i) => `/s${i}`).join(''), 'trap_segments'],
    ['/a/a/a', 'trap_repeats'],
    [`/?${Array.from({ length: 21 }, (_, i) => `p${i}=1`).join('&')}`, 'trap_params'],
    ['/PHPSESSID=0123456789abcdef/a', 'trap_session_id'],
    ['/?year=2101', 'trap_calendar'],
  ])('%s counts as %s', (path, reason) => {
    const { pathname, search } = new URL(path, 'https://x.example')
    expect(trapIn(pathname, search, DEFAULT_TRAPS)?.reason).toBe(reason)
  })
})
