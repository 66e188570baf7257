import { expect, it } from 'vitest'
import { type ErrorCode, ShoalError } from '../../src/errors.js'
import { failedVisit } from '../../src/worker/failed-visit.js'
import { fetchRow } from '../../src/worker/fetch-row.js'
import { visitParts } from './visit-parts.js'

/** A visit that failed after its request was sent, or before. */
async function failWith(error: unknown, { started = true, attempt = 1 } = {}) {
  const { parts, leased, events } = visitParts({ spider: { retries: { max: 2 } } })
  const current = { ...leased({}, { attempt }), started }
  const produced = await failedVisit(error, null, current, parts)
  return { ...produced, events, current, parts }
}

const error = (code: ErrorCode, cause?: object) => new ShoalError(code, 'it failed', { cause })

it('retries, with the failure in the fetch log and no links', async () => {
  const { outcome, batch, accepted, found } = await failWith(error('timeout'))
  expect(outcome).toMatchObject({
    kind: 'retry',
    countsAsAttempt: true,
    failure: { code: 'timeout', message: 'it failed' },
  })
  expect(batch).toMatchObject({ records: [], rejected: [], fetches: [{ error: 'timeout', status: 0 }] })
  expect([accepted.links, found]).toEqual([[], null])
})

it('ends in a dead letter after the last attempt', async () => {
  const { outcome } = await failWith(error('timeout'), { attempt: 99 })
  expect(outcome).toMatchObject({ kind: 'dead', failure: { code: 'timeout' } })
})

it.each([
  ['nothing was sent', error('robots_disallowed'), false],
  ['the link goes back as it was', error('aborted'), true],
])('logs no fetch when %s', async (_what, thrown, started) => {
  expect((await failWith(thrown, { started })).batch).toBeNull()
})

it.each([
  ['robots_unreachable', (now: number) => ({ retryAt: now + 42_000 }), 42_000],
  ['robots_unreachable', (now: number) => ({ retryAt: now - 1 }), 750],
  ['proxies_resting', () => ({ waitMs: 42_000 }), 42_000],
  ['proxies_resting', () => ({ waitMs: 10 }), 1_000],
] as const)('waits as long as %s asks for', async (code, cause, afterMs) => {
  const { clock } = visitParts()
  const { outcome } = await failWith(error(code, cause(clock.now())))
  expect(outcome).toMatchObject({ afterMs })
})

it('counts the failures of a robots.txt for each link of its site', async () => {
  const failures = (count: number) => failWith(error('robots_unreachable', { retryAt: 0, failures: count }))
  expect((await failures(2)).outcome.kind).toBe('retry')
  expect((await failures(3)).outcome).toMatchObject({ kind: 'dead', failure: { code: 'robots_unreachable' } })
})

it.each([
  ['timeout', 'fetch.failed'],
  ['handler_error', 'handler.failed'],
] as const)('logs %s as %s', async (code, event) => {
  const { events } = await failWith(error(code))
  expect(events).toMatchObject([{ event, code, attempt: 1, outcome: expect.any(String) }])
})

it('keeps what was fetched before the handler failed', async () => {
  const { current, parts } = await failWith(error('timeout'))
  const kept = Promise.resolve('sha256:1')
  const row = { ...fetchRow(current, parts, null), status: 200, bytes: 9 }
  const produced = await failedVisit(error('handler_error'), { row, kept, screenshot: null }, current, parts)
  expect(produced).toMatchObject({ kept, batch: { fetches: [{ status: 200, bytes: 9, error: 'handler_error' }] } })
})
