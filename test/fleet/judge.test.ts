import { describe, expect, it } from 'vitest'
import { createSite, SITE_DEFAULTS } from '../chaos/site.js'
import type { SeenAccess } from '../support/access-log.js'
import { judgeEnds, judgeSiteLog, type Outage } from './judge.js'
import { judgeCutOff, judgeWorkers } from './witness.js'

const SITE = createSite({
  ...SITE_DEFAULTS,
  pages: 4,
  hosts: 1,
  port: 80,
  network: '10.177.1',
  failsOnce: 0,
  throttles: 0,
})
const ONE = '10.177.2.1'
const TWO = '10.177.2.2'
const OUTAGE: Outage = { worker: 'worker-1', address: ONE, without: 'queue', from: 10_000, until: 25_000 }

const access = (t: number, from: string, page: number): SeenAccess => ({
  ...{ t, end: t + 1, status: 200, bytes: 0, host: '10.177.1.1', method: 'GET', path: `/p/${page}` },
  ...{ n: 1, run: 1, conn: 1, ua: '', from },
})
/** The other worker fetches to the end, so that there was work when the first came back. */
const END = access(60_000, TWO, 3)
const verdict = (accesses: SeenAccess[], outage: Partial<Outage> = {}) =>
  judgeSiteLog(SITE, [...accesses, END], [{ ...OUTAGE, ...outage }])

describe('the log of the site', () => {
  it('says when a host fell silent and when it was back', () => {
    const { violations, outages, refetched } = verdict([
      access(9_000, ONE, 0),
      access(10_300, ONE, 1),
      access(26_000, ONE, 2),
    ])
    expect({ violations, outages, refetched }).toEqual({
      violations: [],
      outages: [{ worker: 'worker-1', silentAfterMs: 300, backAfterMs: 1_000 }],
      refetched: 0,
    })
  })

  it('accuses a host that still sends requests without its queue, with the request', () => {
    const { violations } = verdict([access(18_000, ONE, 1), access(26_000, ONE, 2)])
    expect(violations).toMatchObject([
      { invariant: 'I9', detail: expect.stringContaining('after 8000 ms: 10.177.2.1 at 18000 /p/1') },
    ])
  })

  it('accuses a host that vanished and appears again', () => {
    const { violations } = verdict([access(40_000, ONE, 1)], { without: 'everything', until: null })
    expect(violations).toMatchObject([{ invariant: 'I9' }])
  })

  it('lets a host fetch that only waits for the store', () => {
    const { violations } = verdict([access(18_000, ONE, 1), access(26_000, ONE, 2)], { without: 'store' })
    expect(violations).toEqual([])
  })

  it('accuses a host that does not come back although there is work', () => {
    const { violations } = verdict([access(9_000, ONE, 0)])
    expect(violations).toMatchObject([{ invariant: 'I11', detail: expect.stringContaining('never') }])
  })

  it('explains a second fetch by a host in trouble, and by nothing else', () => {
    const back = access(26_000, ONE, 2)
    expect(verdict([access(9_900, ONE, 0), access(22_000, TWO, 0), back])).toMatchObject({
      violations: [],
      refetched: 1,
    })
    const { violations } = verdict([access(1_000, ONE, 0), access(22_000, TWO, 0), back])
    expect(violations).toMatchObject([
      { invariant: 'I8', detail: expect.stringContaining('/p/0: 2 fetches, 1 needed') },
    ])
  })
})

describe('the ends of the workers', () => {
  const workers = [{ name: 'worker-1' }, { name: 'worker-2' }]

  it('are all with exit code 0', () => {
    const good = { slot: 0, exit: 0, ms: 300 }
    expect(judgeEnds([good, { slot: 1, exit: 0, ms: 9_000 }], workers)).toEqual([])
    expect(judgeEnds([good, { slot: 1, exit: 'SIGKILL', ms: 40_000 }], workers)).toMatchObject([
      { invariant: 'I11', detail: 'worker-2: ended with SIGKILL after 40.0 s when it was asked to stop' },
    ])
    expect(judgeEnds([good], workers)).toMatchObject([{ detail: expect.stringContaining('was not running') }])
  })
})

describe('what the commands say', () => {
  const answer = { code: 0, signal: null, stdout: '', stderr: '', ms: 1_000 }
  const line = (machine: string, state: string) => JSON.stringify({ state, about: { machine } })

  it('names exactly the hosts in trouble', () => {
    const stdout = `${line('a', 'missing')}\n${line('b', 'working')}\n`
    expect(judgeWorkers({ ...answer, stdout }, ['a'])).toEqual([])
    expect(judgeWorkers({ ...answer, stdout }, [])).toMatchObject([{ detail: 'workers: missing: a; in truth: none' }])
    expect(judgeWorkers({ ...answer, stdout }, ['a', 'b'])).toHaveLength(1)
  })

  it('is exit code 4 and the reason on a host that is cut off, in time', () => {
    const cut = { ...answer, code: 4, stderr: 'error: Redis is unreachable [queue_unreachable]' }
    expect(judgeCutOff(cut, 'queue')).toEqual([])
    expect(judgeCutOff(cut, 'store')).toHaveLength(1)
    expect(judgeCutOff({ ...cut, code: 1 }, 'queue')).toHaveLength(1)
    expect(judgeCutOff({ ...cut, ms: 40_000 }, 'queue')).toHaveLength(1)
  })
})
