import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { Busy } from '../../src/politeness/busy.js'
import { Again, type Held } from '../../src/worker/layer.js'
import { type SendAs, withVisitor } from '../../src/worker/with-visitor.js'
import { HOLDS_NOTHING, innermost, type Setting, sendingOf, visitParts } from './visit-parts.js'

const LOGIN = 'https://site.test/login'
const page = { url: LOGIN, status: 200, headers: {}, cookies: [], body: Buffer.alloc(0), wireBytes: 0, ms: 0 }

function layerFor(session: NonNullable<Setting['spider']>['session'], sendAs: SendAs = async () => page) {
  const { parts, leased, clock, ...rest } = visitParts({ ...(session && { spider: { session } }) })
  const { layer, seen } = innermost()
  const current = leased()
  const pass = withVisitor(layer, sendAs)
  return { pass, seen, current, parts, clock, ...rest }
}

it('adds nothing for a spider without sessions', async () => {
  const { pass, seen, current, parts } = layerFor(undefined)
  await pass(sendingOf(current, parts), HOLDS_NOTHING)
  expect(seen[0]).toBe(HOLDS_NOTHING)
})

it('reads robots.txt as nobody in particular', async () => {
  const { pass, seen, current, parts } = layerFor({ login: () => Promise.reject(new Error('never')) })
  await pass(sendingOf(current, parts, { isRobots: true }), HOLDS_NOTHING)
  expect(seen[0]?.visitor).toBeNull()
})

it('keeps the visitor of the attempt before, though its session is over', async () => {
  const { pass, seen, current, parts } = layerFor({ requests: 1 })
  await pass(sendingOf(current, parts), HOLDS_NOTHING)
  const visitor = seen[0]?.visitor ?? null
  await pass(sendingOf(current, parts), { ...HOLDS_NOTHING, visitor })
  await pass(sendingOf(current, parts), HOLDS_NOTHING)
  expect(visitor).not.toBeNull()
  expect(seen.map((held) => held.visitor === visitor)).toEqual([true, true, false])
})

it('gives everything back, logs in, and starts over as the same visitor', async () => {
  const { pass, seen, current, parts, clock, released } = layerFor({
    login: ({ fetch }) => fetch(LOGIN).then(() => {}),
  })
  const held: Held = { ...HOLDS_NOTHING, permits: [{ host: 'site.test', at: clock.mono(), forMs: 10 }] }
  const answer = await pass(sendingOf(current, parts), held)
  expect(answer).toBeInstanceOf(Again)
  expect(answer).toMatchObject({ why: 'login', held: { permits: [], lent: null, visitor: { loggedIn: true } } })
  expect(released).toMatchObject([{ host: 'site.test', report: { kind: 'wait', ms: 0 } }])
  expect([seen, current.patient]).toEqual([[], true])
  if (answer instanceof Again) await pass(sendingOf(current, parts), answer.held)
  expect(seen).toHaveLength(1)
})

it('is busy when its login is, and may log in the next time', async () => {
  const answers = [new Busy(60_000, 'site.test'), page]
  const login = ({ fetch }: { fetch(url: string): Promise<unknown> }) => fetch(LOGIN).then(() => {})
  const { pass, current, parts } = layerFor({ login }, async () => answers.shift() ?? page)
  expect(await pass(sendingOf(current, parts), HOLDS_NOTHING)).toEqual(new Busy(60_000, 'site.test'))
  expect(await pass(sendingOf(current, parts), HOLDS_NOTHING)).toMatchObject({ why: 'login' })
})

it('tries again through another proxy when that of the login is broken', async () => {
  const broken = new ShoalError('proxy_error', 'it is broken')
  const login = ({ fetch }: { fetch(url: string): Promise<unknown> }) => fetch(LOGIN).then(() => {})
  const { pass, current, parts } = layerFor({ login }, () => Promise.reject(broken))
  const answer = await pass(sendingOf(current, parts), HOLDS_NOTHING)
  expect(answer).toMatchObject({ why: 'broken', error: broken, held: { visitor: null, stay: undefined } })
})
