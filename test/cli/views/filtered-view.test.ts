import { expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { filteredLines } from '../../../src/cli/views/filtered-view.js'
import type { FilteredLinks } from '../../../src/url/filter-reasons.js'

const plain = styleFor({}, {})
const FILTERED: readonly FilteredLinks[] = [
  { reason: 'session_id', count: 1_200, example: { url: 'https://a.test/?PHPSESSID=1', became: 'https://a.test/' } },
  { reason: 'likely_session_id', count: 400, example: { url: 'https://a.test/?sid=4f1c', became: null } },
  { reason: 'trap_calendar', count: 3, example: { url: 'https://a.test/calendar/2150/03\x1b[2J', became: null } },
  { reason: 'spelling', count: 1, example: null },
]

it('says nothing when every link was accepted as it is', () => {
  expect(filteredLines({ filtered: [], refused: 0 }, plain)).toEqual([])
})

it('lists what was changed, rejected and kept, with the setting and an example', () => {
  expect(filteredLines({ filtered: FILTERED, refused: 8 }, plain)).toEqual([
    '      1,204  links changed or rejected by the scope',
    '             changed: session id removed × 1,200 (scope.traps.sessionIds), for example https://a.test/?PHPSESSID=1 → https://a.test/',
    '             rejected: year outside 1900 to 2100 × 3 (scope.traps.calendars), for example https://a.test/calendar/2150/03 [2J',
    '             changed: escapes, empty parameters or user info normalised × 1',
    "        400  links kept: a parameter looks like a session id, and sessionIds: 'likely' would remove it (scope.traps.sessionIds)",
    '             for example https://a.test/?sid=4f1c',
    '          8  links rejected: the queue was full or a budget was used up',
  ])
})

it('shows the most frequent reasons, and where the others are', () => {
  const lines = filteredLines({ filtered: FILTERED, refused: 0 }, plain, 1)
  expect(lines[2]).toBe('             and 2 other reasons: shoal status')
  expect(lines).toHaveLength(5)
})

it('warns only when many links look as if they had a session id', () => {
  const paint = styleFor({ isTTY: true }, {})
  const kept = (count: number) =>
    filteredLines({ filtered: [{ reason: 'likely_session_id', count, example: null }], refused: 0 }, paint)[0]
  expect(kept(100)).toContain('\x1b[33m')
  expect(kept(99)).not.toContain('\x1b[33m')
})

it('always names links that were dropped, and the page that had too many', () => {
  const example = { url: 'https://a.test/all', became: null }
  const filtered: FilteredLinks[] = [...FILTERED, { reason: 'too_many_links', count: 1, example }]
  const lines = filteredLines({ filtered, refused: 0 }, plain, 1)
  expect(lines).toContain('          1  link dropped: a page has more than scope.maxLinksPerPage')
  expect(lines).toContain('             on https://a.test/all')
})
