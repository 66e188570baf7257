import { describe, expect, it } from 'vitest'
import { DEFAULT_TRAPS, trapIn } from '../../src/url/traps.js'

function guardOf(path: string, rules = DEFAULT_TRAPS): string | null {
  const { pathname, search } = new URL(path, 'https://x.example')
  return /scope\.traps\.(\w+)/.exec(trapIn(pathname, search, rules) ?? '')?.[1] ?? null
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
  ])('%s is a page', (path) => {
    expect(guardOf(path)).toBeNull()
  })

  it('lets through as many repetitions as allowed', () => {
    expect(guardOf('/a/a/a/a', { ...DEFAULT_TRAPS, maxRepeat: 4 })).toBeNull()
    expect(guardOf('/a/a/a/a/a', { ...DEFAULT_TRAPS, maxRepeat: 4 })).toBe('maxRepeat')
  })
})
