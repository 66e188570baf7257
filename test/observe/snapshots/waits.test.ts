import { describe, expect, it } from 'vitest'
import type { HostInfo, LinkInfo, WorkerInfo } from '../../../src/frontier/frontier.js'
import {
  blocksOf,
  missingText,
  missingWorkers,
  NO_WAITS,
  unreachableText,
  type WaitsInput,
  waitsOf,
} from '../../../src/observe/snapshots/waits.js'
import { hostInfo, workerSnapshot } from './some-snapshots.js'

const NOW = 1_000_000

const link = (given: Partial<LinkInfo>) => ({ host: 'a.test', failures: [], attempts: 1, ...given }) as LinkInfo
const failedLink = (code: LinkInfo['failures'][number]['code'], given: Partial<LinkInfo> = {}) =>
  link({ dueAt: NOW + 2_000, failures: [{ code, message: `it was ${code}`, at: NOW - 10 }], ...given })
const host = (given: Partial<HostInfo> = {}) => hostInfo({ host: 'a.test', pending: 1, concurrency: 2, ...given })
const worker = (given: Partial<WorkerInfo>): WorkerInfo => workerSnapshot({ seenAt: NOW, ...given })
const dead = worker({ worker: 'w1', inFlight: 2, seenAt: NOW - 6_000, beatAt: NOW - 6_000, lostAt: NOW + 4_000 })
const held = [link({ worker: 'w1' }), link({ worker: 'w1' })]

const waits = (given: Partial<WaitsInput>) =>
  waitsOf({ spider: 'books', hosts: [host()], delayed: [], leased: [], workers: [], now: NOW, ...given })

describe('missing workers', () => {
  it('are those that hold links of the crawl and have not been heard of, with the hosts that they block', () => {
    const { missing } = waits({ workers: [dead, worker({ worker: 'w2', inFlight: 1 })], leased: held })
    expect(missing).toEqual([
      { worker: 'w1', machine: 'm', since: NOW - 6_000, links: 2, backAt: NOW + 4_000, hosts: ['a.test'] },
    ])
    expect(missing.map((one) => missingText(one, NOW))).toEqual([
      'worker w1 on m is missing, last seen 6.0 s ago; its 2 links return to the queue in 4.0 s',
    ])
  })

  it('block no host that has a free slot or no links left', () => {
    expect(waits({ workers: [dead], leased: held.slice(1) }).missing).toMatchObject([{ links: 1, hosts: [] }])
    expect(waits({ workers: [dead], leased: held, hosts: [host({ pending: 0 })] }).missing).toMatchObject([
      { hosts: [] },
    ])
  })

  it("are nobody's business when they hold nothing", () => {
    expect(waits({ workers: [dead] })).toEqual(NO_WAITS)
    expect(missingWorkers([{ ...dead, inFlight: 0 }], NOW)).toEqual([])
    expect(missingWorkers([dead], NOW)).toMatchObject([{ links: 2 }])
  })

  it('of a version that does not beat return their links when the leases run out', () => {
    const old = worker({ worker: 'w1', inFlight: 1, seenAt: NOW - 61_000 })
    expect(missingWorkers([old], NOW).map((one) => missingText(one, NOW))).toEqual([
      'worker w1 on m is missing, last seen 1 min 01 s ago; its link returns to the queue when its lease expires',
    ])
  })
})

describe('hosts that cannot be reached', () => {
  const retrying = worker({ about: { machine: 'm', pid: 1, version: '1', retries: { books: [1_000, 2_000, 4_000] } } })

  it('are named with the error, the next try and when they are given up', () => {
    const delayed = [failedLink('connect_error', { attempts: 2 })]
    const { unreachable } = waits({ delayed, workers: [retrying] })
    expect(unreachable).toEqual([
      {
        ...{ host: 'a.test', code: 'connect_error', error: 'it was connect_error', links: 1 },
        ...{ nextTryAt: NOW + 2_000, givesUpAt: NOW + 6_000 },
      },
    ])
    expect(unreachable.map((one) => unreachableText(one, NOW))).toEqual([
      'a.test cannot be reached: it was connect_error; 1 link left, next try in 2.0 s, given up in about 6.0 s',
    ])
  })

  it('are given up at a time that nobody knows if no worker says how often it retries', () => {
    const [one] = waits({ delayed: [failedLink('dns_error', { dueAt: NOW - 5 })] }).unreachable
    expect(one).toMatchObject({ givesUpAt: null, nextTryAt: NOW })
    expect(one && unreachableText(one, NOW)).toBe(
      'a.test cannot be reached: it was dns_error; 1 link left, next try now',
    )
  })

  it('are not those of which only some pages fail, or that fail in another way', () => {
    expect(waits({ delayed: [failedLink('timeout')], hosts: [host({ pending: 2 })] })).toEqual(NO_WAITS)
    expect(waits({ delayed: [failedLink('server_error')] })).toEqual(NO_WAITS)
    expect(waits({ delayed: [link({})] })).toEqual(NO_WAITS)
  })

  it('need no more than one link that says so if their robots.txt cannot be read', () => {
    const hosts = [host({ pending: 90 })]
    expect(waits({ delayed: [failedLink('robots_unreachable')], hosts }).unreachable).toMatchObject([{ links: 90 }])
  })
})

it('blocks hosts for the estimate until then', () => {
  const { missing } = waits({ workers: [dead], leased: held })
  const { unreachable } = waits({ delayed: [failedLink('dns_error')], hosts: [host()] })
  expect([...blocksOf({ missing, unreachable: [] })]).toEqual([['a.test', { reason: 'missing', until: NOW + 4_000 }]])
  expect([...blocksOf({ missing: [], unreachable })]).toEqual([['a.test', { reason: 'unreachable', until: null }]])
})
