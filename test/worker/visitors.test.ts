import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { RENDER_DEFAULTS } from '../../src/fetch/browser/browser-fetcher.js'
import { createSessions } from '../../src/proxy/session.js'
import { asVisitor } from '../../src/worker/visitors.js'

it('a rendered page is asked for in the window of its session, however its cookies change', () => {
  const sessions = createSessions(systemClock, () => 0.5)
  const rules = { rotation: { requests: 9, timeMs: 60_000 }, cookies: true, userAgents: [] }
  const use = (proxy: string) => sessions.use({ spider: 's', pool: 'p', site: 'a.example' }, proxy, rules)
  const url = 'https://a.example/'
  const windowOf = (proxy: string) => asVisitor({ url, render: RENDER_DEFAULTS }, use(proxy)).render?.visitor
  const first = windowOf('one')
  use('one').cookies?.take(url, ['a=1'])
  expect(first).toBeDefined()
  expect(windowOf('one')).toBe(first)
  expect(windowOf('two')).not.toBe(first)
  expect(asVisitor({ url }, use('one'))).toEqual({ url, headers: { cookie: 'a=1' } })
})
