import { describe, expect, it } from 'vitest'
import {
  isWorthAProcess,
  NO_CHANGE_YET,
  type ProcessSample,
  processChange,
  processesChanged,
} from '../../../src/run/workers/process-count.js'

const MB = 1024 * 1024

interface Load {
  readonly cores: number
  /** CPU that the crawl could use if it had it, in cores, by second. */
  readonly wanted: (second: number) => number
  /** Cores that other programs use. */
  readonly others?: (second: number) => number
  readonly freeBytes?: number
  readonly startSeconds?: number
  /** The reports of a loop differ by this much. */
  readonly noise?: (second: number) => number
}

/** A machine in which each process uses at most one core; returns the number of processes of every second. */
function simulate(seconds: number, load: Load): number[] {
  const { cores, wanted, others = () => 0, startSeconds = 2, noise = () => 0 } = load
  let state = NO_CHANGE_YET
  const startedAt = [Number.NEGATIVE_INFINITY]
  const counts: number[] = []
  for (let second = 0; second < seconds; second++) {
    const ready = startedAt.filter((at) => second - at >= startSeconds).length
    const share = Math.min(1, wanted(second) / ready)
    const used = Math.min(cores, share * ready + others(second))
    const sample: ProcessSample = {
      atMs: second * 1_000,
      processes: startedAt.length,
      loops: Array.from({ length: ready }, () => Math.max(0, Math.min(1, share + noise(second)))),
      ...{ cores, idleCores: cores - used, rssBytes: 150 * MB, freeBytes: load.freeBytes ?? 4_000 * MB },
    }
    const decided = processChange(state, sample)
    state = decided.change === null ? decided.state : processesChanged(sample.atMs)
    if (decided.change === 'more') startedAt.push(second)
    if (decided.change === 'fewer') startedAt.pop()
    counts.push(startedAt.length)
  }
  return counts
}

const changesIn = (counts: readonly number[]) => counts.filter((count, nth) => nth > 0 && count !== counts[nth - 1])

describe('the number of processes', () => {
  it('grows one by one to the cores of the machine while all loops are full, and no further', () => {
    const counts = simulate(120, { cores: 4, wanted: () => 40 })
    expect(changesIn(counts)).toEqual([2, 3, 4])
    expect(counts.indexOf(2)).toBe(3)
    expect(counts.indexOf(4), 'not before the one before had its share').toBeGreaterThanOrEqual(15)
    expect(Math.max(...simulate(600, { cores: 2, wanted: () => 40 }))).toBe(2)
    expect(Math.max(...simulate(600, { cores: 1, wanted: () => 40 }))).toBe(1)
  })

  it('has no more processes than cores, even if loops that wait leave a core idle', () => {
    const sample = { processes: 2, loops: [0.9, 0.9], cores: 2, idleCores: 1.2, rssBytes: MB, freeBytes: 100 * MB }
    const since = { fullSince: 0, slackSince: null, changedAt: null }
    expect(processChange(since, { ...sample, atMs: 60_000 }).change).toBe(null)
    expect(processChange(since, { ...sample, atMs: 60_000, cores: 3 }).change).toBe('more')
  })

  it('stays at one for a crawl that is full for less than three seconds, again and again', () => {
    const bursts = (second: number) => (second % 5 < 3 ? 5 : 0.2)
    expect(changesIn(simulate(300, { cores: 8, wanted: bursts }))).toEqual([])
  })

  it('stays at one when pages wait for hosts, or when other programs use the cores', () => {
    expect(changesIn(simulate(300, { cores: 8, wanted: () => 0.8 }))).toEqual([])
    expect(changesIn(simulate(300, { cores: 2, wanted: () => 5, others: () => 1 }))).toEqual([])
  })

  it('adds no process that the memory has no room for', () => {
    expect(changesIn(simulate(300, { cores: 8, wanted: () => 5, freeBytes: 200 * MB }))).toEqual([])
  })

  it('leaves again when the work has become less, after half a minute', () => {
    const counts = simulate(300, { cores: 4, wanted: (second) => (second < 60 ? 40 : 0.5) })
    expect(changesIn(counts)).toEqual([2, 3, 4, 3, 2, 1])
    expect(counts[89]).toBe(4)
    expect(counts.at(-1)).toBe(1)
  })

  it.each([0.7, 0.86, 0.9, 1, 1.2, 1.5, 1.8, 2, 2.5, 3.1])('does not swing with work for %s cores', (cores) => {
    const noise = (second: number) => 0.08 * Math.sin(second * 1.7)
    const counts = simulate(1_800, { cores: 8, wanted: () => cores, noise })
    const late = counts.slice(300)
    expect(new Set(late).size, 'settled within five minutes').toBe(1)
    expect(changesIn(counts)).toEqual([...changesIn(counts)].sort())
  })

  it('follows work that comes and goes in minutes without more changes than it has to make', () => {
    const counts = simulate(1_200, { cores: 2, wanted: (second) => (Math.floor(second / 120) % 2 === 0 ? 4 : 0.3) })
    expect(changesIn(counts)).toHaveLength(10)
  })
})

describe('another process', () => {
  it('is worth it when what is waiting takes ten seconds or more at the current rate', () => {
    expect(isWorthAProcess(0, 20)).toBe(false)
    expect(isWorthAProcess(0, 0), 'the only page computes for minutes').toBe(false)
    expect(isWorthAProcess(3, 0)).toBe(true)
    expect(isWorthAProcess(199, 20)).toBe(false)
    expect(isWorthAProcess(200, 20)).toBe(true)
    expect(isWorthAProcess(50, 500), 'a crawl of 50 pages').toBe(false)
  })
})
