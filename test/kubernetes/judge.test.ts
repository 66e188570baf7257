import { describe, expect, it } from 'vitest'
import type { SeenAccess } from '../support/access-log.js'
import { type Evidence, judge, strays } from './judge.js'
import { type Ending, serviceVariables } from './kubelet.js'
import { plot, type Sample } from './plot.js'

const access = (t: number, path: string): SeenAccess => ({
  ...{ t, end: t + 800, status: 200, bytes: 0, host: '0', method: 'GET', path, n: 1, run: 1, conn: 0, ua: '' },
})
const sample = (t: number, useful: number | null, running: number): Sample => ({
  ...{ t, useful, wanted: running, running, left: 0, pagesPerSecond: 0 },
})
const GOOD_END: Ending = { pod: 'w1', part: 'worker', code: 0, tookS: 2, graceS: 45, lost: false }
const GOOD: Evidence = {
  log: [access(0, '/a'), access(1_000, '/b'), access(10_000, '/a'), access(11_000, '/b')],
  ...{ delayMs: 1_000, secondFrom: 5_000, inFlightAtLoss: 0, endings: [GOOD_END], samples: [], mostWorkers: 20 },
  ...{ expectedPages: 2, records: 2 },
}

describe('the judge of the Kubernetes run', () => {
  it('finds nothing in a good run, in which the second crawl visits the same pages', () => {
    expect(judge(GOOD)).toEqual([])
  })

  it('finds each kind of violation', () => {
    const broken: [Partial<Evidence>, RegExp][] = [
      [{ log: [...GOOD.log, access(11_300, '/c')] }, /300.0 ms between/],
      [{ log: [access(0, '/a'), access(2_000, '/a')] }, /1 pages of the first crawl were fetched twice/],
      [{ log: [access(6_000, '/a'), access(8_000, '/a')] }, /second crawl were fetched twice/],
      [{ endings: [{ ...GOOD_END, code: 'SIGKILL' }] }, /w1 ended with SIGKILL/],
      [{ endings: [{ ...GOOD_END, code: 143, tookS: null }] }, /w1 ended with 143/],
      [{ endings: [{ ...GOOD_END, tookS: 46 }] }, /w1 took 46 s of 45 s/],
      [{ records: 1 }, /1 records of 2 pages/],
    ]
    for (const [change, expected] of broken)
      expect(judge({ ...GOOD, ...change })).toContainEqual(expect.stringMatching(expected))
  })

  it('allows what the processes of a lost node had in flight, and their end', () => {
    const log = [access(6_000, '/a'), access(8_000, '/a')]
    const endings = [{ ...GOOD_END, code: 'SIGKILL', lost: true }]
    expect(judge({ ...GOOD, log, endings, inFlightAtLoss: 1 })).toEqual([])
  })

  it('notices replicas that do not follow the useful workers, after the time that following takes', () => {
    const steady = (useful: number, running: number) =>
      Array.from({ length: 200 }, (_, t) => sample(t, useful, running))
    expect(strays(steady(5, 5), 20)).toEqual([])
    expect(strays(steady(9, 8), 20)).toEqual([])
    expect(strays(steady(30, 8), 8)).toEqual([])
    expect(strays(steady(1, 6), 20).at(0)).toMatch(/^second 86: 6 workers, at most 1 were useful/)
    expect(strays(steady(6, 1), 20).at(0)).toMatch(/^second 41: 1 workers, at least 6 were useful/)
    expect(
      strays(
        steady(0, 0).map((one) => ({ ...one, useful: null })),
        20,
      ),
    ).toEqual([])
  })
})

describe('the kubelet of the run', () => {
  it('sets the variables of a Service as a real one does, and none for a headless Service', () => {
    const ports = [{ name: 'http', port: 7373 }]
    expect(
      serviceVariables({ metadata: { name: 'shoal-dashboard' }, spec: { clusterIP: '10.88.0.7', ports } }),
    ).toEqual({
      SHOAL_DASHBOARD_SERVICE_HOST: '10.88.0.7',
      SHOAL_DASHBOARD_SERVICE_PORT: '7373',
      SHOAL_DASHBOARD_SERVICE_PORT_HTTP: '7373',
      SHOAL_DASHBOARD_PORT: 'tcp://10.88.0.7:7373',
      SHOAL_DASHBOARD_PORT_7373_TCP: 'tcp://10.88.0.7:7373',
      SHOAL_DASHBOARD_PORT_7373_TCP_PROTO: 'tcp',
      SHOAL_DASHBOARD_PORT_7373_TCP_PORT: '7373',
      SHOAL_DASHBOARD_PORT_7373_TCP_ADDR: '10.88.0.7',
    })
    expect(serviceVariables({ metadata: { name: 'redis' }, spec: { clusterIP: 'None', ports } })).toEqual({})
  })
})

describe('the plot of the run', () => {
  it('draws a line per figure and leaves out what was not measured', () => {
    const svg = plot([sample(0, null, 0), sample(60, 2, 1), sample(120, 0, 0)], [{ t: 60, what: 'a < b' }])
    expect(svg.match(/<path/g)).toHaveLength(5)
    expect(svg).toContain('a &lt; b')
    expect(svg).not.toMatch(/NaN|undefined|null/)
  })
})
