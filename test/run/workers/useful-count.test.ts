import { describe, expect, it } from 'vitest'
import type { FleetReading } from '../../../src/observe/snapshots/useful-workers.js'
import type { ProcessSample } from '../../../src/run/workers/process-count.js'
import {
  type FleetShare,
  fleetShare,
  NOT_COUNTED_YET,
  usefulChange,
  usefulChanged,
} from '../../../src/run/workers/useful-count.js'

const MB = 1024 * 1024
const READ_SECONDS = 3

interface Machine {
  readonly name: string
  readonly max: number
  readonly cores?: number
  /** How busy each of its event loops is. */
  readonly loop?: (second: number, processes: number) => number
  readonly idleCores?: (processes: number) => number
  readonly freeBytes?: number
  /** Workers of a fixed number: they never change. */
  readonly fixed?: number
  /** It disappears at this second. */
  readonly until?: number
  /** Seconds until its first look at the queue. */
  readonly offset?: number
}

interface Fleet {
  readonly useful: (second: number, total: number) => number
  readonly machines: readonly Machine[]
  /** From the start of a process until the others see it, and from its stop until they no longer do. */
  readonly startSeconds?: number
  readonly leaveSeconds?: number
}

/** Machines that decide on their own, each from what it sees of the others; returns the processes of each by second. */
function simulate(seconds: number, { useful, machines, startSeconds = 4, leaveSeconds = 5 }: Fleet): number[][] {
  const all = machines.map((machine) => ({
    machine,
    state: NOT_COUNTED_YET,
    running: Array.from({ length: machine.fixed ?? 1 }, () => ({ from: Number.NEGATIVE_INFINITY })),
    gone: [] as number[],
  }))
  const counts: number[][] = []
  for (let second = 0; second < seconds; second++) {
    for (const one of all) if (second === one.machine.until) one.running.length = 0
    const seen = all.map(
      ({ running, gone }) =>
        running.filter(({ from }) => second - from >= startSeconds).length +
        gone.filter((at) => second - at < leaveSeconds).length,
    )
    const visible = seen.reduce((sum, count) => sum + count, 0)
    all.forEach((one) => {
      const { machine, running } = one
      if (running.length === 0 || machine.fixed !== undefined || (second + (machine.offset ?? 0)) % READ_SECONDS !== 0)
        return
      const loop = machine.loop?.(second, running.length) ?? 0.3
      const sample: ProcessSample = {
        ...{ atMs: second * 1_000, processes: running.length, cores: machine.cores ?? 4 },
        loops: running.filter(({ from }) => second - from >= 2).map(() => loop),
        idleCores: machine.idleCores?.(running.length) ?? 2,
        ...{ rssBytes: 150 * MB, freeBytes: machine.freeBytes ?? 4_000 * MB },
      }
      const share: FleetShare = {
        ...{ useful: useful(second, visible), why: '', name: machine.name },
        elsewhere: all.flatMap((other, at) => {
          const workers = seen[at] ?? 0
          return other === one || workers === 0 ? [] : [{ name: other.machine.name, workers }]
        }),
      }
      const decided = usefulChange(one.state, sample, share, machine.max)
      one.state = decided.change === null ? decided.state : usefulChanged(sample.atMs)
      if (decided.change === 'more') running.push({ from: second })
      if (decided.change === 'fewer') {
        running.pop()
        one.gone.push(second)
      }
    })
    counts.push(all.map(({ running }) => running.length))
  }
  return counts
}

const totals = (counts: readonly (readonly number[])[]) => counts.map((row) => row.reduce((sum, one) => sum + one, 0))
const changesIn = (counts: readonly number[]) => counts.filter((count, nth) => nth > 0 && count !== counts[nth - 1])
const two = (max: number, offset: number): Machine[] => [
  { name: 'alder', max },
  { name: 'birch', max, offset },
]

describe('the number of processes by useful workers', () => {
  it('grows one by one to what is useful, at most to the limit, and never below 1', () => {
    const alone = (max: number, useful: number) =>
      totals(simulate(200, { useful: () => useful, machines: [{ name: 'a', max }] }))
    expect(changesIn(alone(8, 5))).toEqual([2, 3, 4, 5])
    expect(alone(8, 5).indexOf(2), 'not at the first look').toBeGreaterThanOrEqual(3)
    expect(alone(8, 5).indexOf(5)).toBeLessThanOrEqual(40)
    expect(Math.max(...alone(3, 50))).toBe(3)
    expect(Math.max(...alone(1, 50))).toBe(1)
    expect(changesIn(alone(8, 0))).toEqual([])
  })

  it('more than cores while processes wait for hosts; not when CPU is the limit', () => {
    const machine = { name: 'a', max: 8, cores: 2 }
    const waiting = simulate(200, { useful: () => 6, machines: [{ ...machine, loop: () => 0.2 }] })
    expect(totals(waiting).at(-1)).toBe(6)
    const loop = () => 0.95
    const full = simulate(200, {
      useful: () => 6,
      machines: [{ ...machine, loop, idleCores: (processes) => Math.max(0, 2 - processes) }],
    })
    expect(changesIn(totals(full))).toEqual([2])
  })

  it('processes beyond the cores leave when CPU becomes the limit', () => {
    const busy = (second: number) => second >= 100
    const counts = simulate(400, {
      useful: () => 6,
      machines: [{ name: 'a', max: 8, cores: 2, loop: (second) => (busy(second) ? 0.95 : 0.2), idleCores: () => 0 }],
    })
    expect(totals(counts)[99]).toBe(6)
    expect(changesIn(totals(counts).slice(99))).toEqual([5, 4, 3, 2])
  })

  it('adds none without memory for it', () => {
    const counts = simulate(100, { useful: () => 6, machines: [{ name: 'a', max: 8, freeBytes: 200 * MB }] })
    expect(changesIn(totals(counts))).toEqual([])
  })

  it('a short dip or peak changes nothing', () => {
    const machines = [{ name: 'a', max: 8 }]
    const dips = simulate(600, { useful: (second) => (second > 60 && second % 40 < 25 ? 1 : 4), machines })
    expect(changesIn(totals(dips))).toEqual([2, 3, 4])
    const peaks = simulate(600, { useful: (second) => (second % 30 === 0 ? 8 : 1), machines })
    expect(changesIn(totals(peaks))).toEqual([])
  })

  it('counts the workers elsewhere: three useful, three running on another machine', () => {
    const machines = [
      { name: 'a', max: 8 },
      { name: 'b', max: 0, fixed: 2 },
    ]
    expect(changesIn(totals(simulate(300, { useful: () => 3, machines })))).toEqual([])
    expect(simulate(300, { useful: () => 6, machines }).at(-1)).toEqual([4, 2])
  })

  it('two machines share: never more than one too many, and they converge', () => {
    for (const offset of [0, 1, 2])
      for (const startSeconds of [1, 6, 12])
        for (const leaveSeconds of [1, 25])
          for (const useful of [1, 7, 16]) {
            const label = JSON.stringify({ offset, startSeconds, leaveSeconds, useful })
            const fleet = { useful: () => useful, machines: two(8, offset), startSeconds, leaveSeconds }
            const counts = simulate(450, fleet)
            const total = totals(counts)
            const least = Math.max(2, useful)
            expect(Math.max(...total), label).toBeLessThanOrEqual(least + (startSeconds > 8 ? 1 : 0))
            expect(total.at(-1), label).toBe(least)
            expect(changesIn(total.slice(350)), label).toEqual([])
            const [one = 0, other = 0] = counts.at(-1) ?? []
            expect(Math.abs(one - other), label).toBeLessThanOrEqual(2)
          }
  })

  it('two machines shrink together without going below what is useful', () => {
    for (const offset of [0, 1, 2])
      for (const leaveSeconds of [1, 10, 25]) {
        const useful = (second: number) => (second < 300 ? 12 : 5)
        const total = totals(simulate(1_500, { useful, machines: two(8, offset), leaveSeconds }))
        expect(total[299]).toBe(12)
        expect(Math.min(...total.slice(300))).toBe(5)
        expect(total.at(-1)).toBe(5)
      }
  })

  it('ten machines share: as many as are useful, none idles for long', () => {
    const machines = Array.from({ length: 10 }, (_, nth) => ({ name: `m${nth}`, max: 4, offset: nth % 3 }))
    const total = totals(simulate(900, { useful: () => 23, machines }))
    expect(Math.max(...total)).toBeLessThanOrEqual(24)
    expect(total.at(-1)).toBe(23)
  })

  it('a machine that has reached its limit leaves the rest to the other', () => {
    const machines = [
      { name: 'alder', max: 2 },
      { name: 'birch', max: 8 },
    ]
    expect(simulate(600, { useful: () => 9, machines }).at(-1)).toEqual([2, 7])
  })

  it('the other machine takes over from one that disappears', () => {
    const machines = [
      { name: 'alder', max: 8, until: 200 },
      { name: 'birch', max: 8 },
    ]
    const counts = simulate(400, { useful: () => 6, machines })
    expect(counts[199]).toEqual([3, 3])
    expect(counts.at(-1)).toEqual([0, 6])
  })
})

describe('the share of a machine', () => {
  const worker = (id: string, machine: string, spider: string, state = 'working') => ({
    ...{ worker: id, state, vitals: null, about: { machine, pid: 1, version: '1', spiders: { [spider]: 'x' } } },
  })

  it('has the workers of the same spiders that are not its own, by machine, without those that are missing or leave', () => {
    const reading = {
      ...{ crawls: [], spiders: ['books'], paused: new Set(), now: 0 },
      workers: [
        ...[worker('a-1', 'a', 'books'), worker('a-2', 'a', 'books'), worker('a-3', 'a', 'books')],
        ...[
          worker('b-1', 'b', 'books'),
          worker('b-2', 'b', 'books', 'missing'),
          worker('b-3', 'b', 'books', 'draining'),
        ],
        worker('c-1', 'c', 'shops'),
      ],
    } as unknown as FleetReading
    expect(fleetShare(reading, new Set(['books']), new Set(['a-2', 'a-1']))).toEqual({
      ...{ useful: 0, why: 'no crawl is running', name: 'a-1' },
      elsewhere: [
        { name: 'a-3', workers: 1 },
        { name: 'b-1', workers: 1 },
      ],
    })
  })
})
