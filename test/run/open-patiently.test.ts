import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { type ErrorCode, ShoalError } from '../../src/errors.js'
import { silentLog } from '../../src/log.js'
import { openPatiently, SERVICE_WAIT_MS } from '../../src/run/open-patiently.js'

/** A fleet after a reboot: each try fails as the next of `failures` says, and the one after the last opens. */
async function start(failures: readonly ErrorCode[], waitMs: number) {
  const clock = new ManualClock()
  const startedAt = clock.mono()
  const lines: string[] = []
  const warn = (event: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void lines.push(`${event} ${fields.part}`)
  const left = [...failures]
  let ended: unknown = null
  const open = async () => {
    const code = left.shift()
    if (code !== undefined) throw new ShoalError(code, 'not there')
    return 'opened'
  }
  const drain = new AbortController().signal
  void openPatiently(open, waitMs, { drain, clock, log: { ...silentLog, warn } }).then(
    (answer) => {
      ended = answer
    },
    (error: unknown) => {
      ended = (error as ShoalError).code
    },
  )
  while (ended === null) {
    await new Promise(setImmediate)
    if (ended === null) clock.advance(100)
  }
  return { ended, lines, waitedMs: clock.mono() - startedAt }
}

it('a service waits for Redis and then Postgres, and says each once', async () => {
  const failures: ErrorCode[] = ['queue_unreachable', 'queue_unreachable', 'store_unreachable', 'store_unreachable']
  expect(await start(failures, SERVICE_WAIT_MS)).toMatchObject({
    ended: 'opened',
    lines: ['backend.waiting queue', 'backend.waiting store', 'backend.back queue', 'backend.back store'],
  })
})

it('gives up after its time with what is wrong, because the address may be', async () => {
  const { ended, waitedMs } = await start(Array(1_000).fill('store_unreachable'), SERVICE_WAIT_MS)
  expect(ended).toBe('store_unreachable')
  expect(waitedMs).toBeGreaterThan(SERVICE_WAIT_MS - 2_000)
  expect(waitedMs).toBeLessThan(SERVICE_WAIT_MS + 2_000)
})

it('does not wait where somebody waits for the command, nor for what waiting does not change', async () => {
  expect(await start(['queue_unreachable'], 0)).toMatchObject({ ended: 'queue_unreachable', lines: [], waitedMs: 0 })
  expect(await start(['store_auth'], SERVICE_WAIT_MS)).toMatchObject({ ended: 'store_auth', lines: [], waitedMs: 0 })
})
