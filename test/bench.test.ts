import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { FIGURES } from '../src/simulate/figures.js'
import { tempDir } from './support/cli.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const dir = tempDir('bench')
afterAll(() => dir.remove())

/** npm asks a registry only for what the lockfile leaves open: offline and with an empty cache, a gap is an error. */
describe.each(['.', 'bench'])('the lockfile of %s', (folder) => {
  it('has an entry for every package of the manifest, on every platform', () => {
    const copy = join(dir.path, folder, 'lockfile')
    mkdirSync(copy, { recursive: true })
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, folder, file), join(copy, file))
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--cache', join(dir.path, 'empty-cache')]
    expect(execFileSync('npm', args, { cwd: copy, encoding: 'utf8', stdio: 'pipe' })).toMatch(/added \d+ packages/)
  })

  it('names no registry, so that it installs from any', () => {
    expect(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
  })
})

it('every bench that --help names is there', () => {
  const help = execFileSync(process.execPath, [join(ROOT, 'bench/run.js'), '--help'], { encoding: 'utf8' })
  const names = [...help.matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name)
  expect(names).toContain('crawl')
  expect(names.filter((name) => !existsSync(join(ROOT, `bench/${name}.js`)))).toEqual([])
})

/** The bench is plain JavaScript, which has no types to import. */
interface Figures {
  spreadOf(pagesByWorker: readonly number[]): { min: number; mean: number; max: number; uneven: number }
  figuresOf(given: object): Cell
  barsOf(cells: readonly Cell[], cores: number): { text: string; value: string; holds: boolean }[]
}
interface Cell {
  readonly pagesPerMinute: number
  readonly pagesPerSecond: number
  readonly speedUp: number | null
  readonly efficiency: number | null
  readonly limitedBy: string
  readonly redisUsPerPage: number | null
  readonly faults: readonly string[]
}
interface Plan {
  planFleets(size: {
    quick: boolean
    cores: number
  }): { workers: number; cells: { pages: number; workers: number }[] }[]
  secondsOf(fleets: ReturnType<Plan['planFleets']>, cores: number): number
}

describe('the bench scale', async () => {
  const load = (file: string): Promise<unknown> => import(new URL(`../bench/scale/${file}`, import.meta.url).href)
  const { spreadOf, figuresOf, barsOf } = (await load('figures.js')) as Figures
  const { planFleets, secondsOf } = (await load('plan.js')) as Plan

  const clean = { finished: true, missing: 0, twice: 0, handledTwice: 0, strangers: 0, overlaps: 0, shortGaps: 0 }
  const measured = (pagesByWorker: readonly number[], seconds: number, more: object = {}) => ({
    ...{ ...clean, pagesByWorker, firstRequestAt: 5_000, lastHandledAt: 5_000 + seconds * 1_000 },
    ...{ redisUs: 40_000, siteCpuS: 0.5, ...more },
  })
  const cell = (kind: string, hosts: number, workers: number, pages: number, proxies = 0) => ({
    ...{ kind, hosts, workers, pages, proxies, queue: 'redis', seconds: 10 },
  })

  it('the spread is how far the farthest worker is from an even share', () => {
    expect(spreadOf([100, 100, 100, 100])).toEqual({ min: 100, mean: 100, max: 100, uneven: 0 })
    expect(spreadOf([130, 90, 80])).toEqual({ min: 80, mean: 100, max: 130, uneven: 0.3 })
    expect(spreadOf([150, 100, 50]).uneven).toBe(0.5)
    expect(spreadOf([400, 0, 0, 0]).uneven).toBe(3)
    expect(spreadOf([0, 0]).uneven).toBe(1)
  })

  it('rate, speed-up and efficiency are those of the whole time, against one worker', () => {
    const one = figuresOf({ cell: cell('cpu', 20, 1, 200), measured: measured([200], 10), cores: 2 })
    expect(one).toMatchObject({
      pagesPerMinute: 1_200,
      speedUp: 1,
      efficiency: 1,
      redisUsPerPage: 200,
      siteCores: 0.05,
    })
    const two = figuresOf({ cell: cell('cpu', 20, 2, 400), measured: measured([200, 200], 12.5), one, cores: 2 })
    expect(two).toMatchObject({ pagesPerSecond: 32, speedUp: 1.6, efficiency: 0.8, limitedBy: 'workers' })
    const eight = figuresOf({ cell: cell('cpu', 20, 8, 400), measured: measured(Array(8).fill(50), 10), one, cores: 2 })
    expect(eight, 'eight processes on two cores').toMatchObject({ speedUp: 2, efficiency: 1, limitedBy: 'cores' })
  })

  it('hosts and proxies limit what is possible', () => {
    const one = figuresOf({ cell: cell('io', 1, 1, 600), measured: measured([600], 10), cores: 2 })
    expect(one.limitedBy, '20 at once and 300 ms are less than the 32 slots of a worker').toBe('hosts')
    const four = figuresOf({ cell: cell('io', 1, 4, 600), measured: measured([600, 0, 0, 0], 10), one, cores: 2 })
    expect(four.efficiency).toBeCloseTo(0.9)
    const proxied = figuresOf({ cell: cell('io', 1, 3, 150, 10), measured: measured([50, 50, 50], 15), cores: 2 })
    expect(proxied).toMatchObject({ speedUp: null, efficiency: 1, limitedBy: 'proxies', pagesPerMinute: 600 })
  })

  it('a target is decided by its worst cell', () => {
    const one = figuresOf({ cell: cell('cpu', 20, 1, 200), measured: measured([200], 10), cores: 2 })
    const fast = figuresOf({ cell: cell('cpu', 20, 2, 400), measured: measured([190, 210], 10), one, cores: 2 })
    const slow = figuresOf({ cell: cell('cpu', 200, 2, 400), measured: measured([200, 200], 12), one, cores: 2 })
    const held = (cells: readonly Cell[], cores = 2) => barsOf(cells, cores).map(({ holds }) => holds)
    expect(held([one, fast])).toEqual([true, true, true])
    expect(held([one, fast, slow])).toEqual([false, true, true])
    expect(held([one, fast, slow], 1), 'one core cannot run two workers').toEqual([true, true])
    const idle = figuresOf({
      cell: cell('io', 200, 8, 800),
      measured: measured([...Array(7).fill(114), 2], 10),
      cores: 2,
    })
    expect(barsOf([idle], 2).map(({ value, holds }) => [value.split(' (')[0], holds])).toEqual([
      ['± 98 %', false],
      ['2 %', false],
      ['fewest 2', true],
      ['yes', true],
    ])
  })

  it('a page that was fetched twice or too early makes the figure worthless', () => {
    const faulty = measured([10], 1, { finished: false, twice: 2, shortGaps: 1 })
    const { faults } = figuresOf({ cell: cell('io', 1, 1, 10), measured: faulty, cores: 2 })
    expect(faults).toEqual([
      'did not finish in time',
      '2 pages fetched again',
      '1 gaps shorter than nine tenths of the delay',
    ])
  })

  it('compares one process with all of them, from the first page of the last one on', async () => {
    const { autoFigures } = (await load('auto.js')) as {
      autoFigures(one: number[][], auto: number[][]): Record<string, number>
    }
    const every = (ms: number, from: number, to: number) =>
      Array.from({ length: (to - from) / ms + 1 }, (_, nth) => from + nth * ms)
    const figures = autoFigures([every(50, 1_000, 21_000)], [every(50, 0, 30_000), every(50, 10_025, 30_000)])
    expect(figures).toMatchObject({ processes: 2, secondsUntilLast: 10.025, onePagesPerMinute: 1_200 })
    expect(figures.speedUp).toBeCloseTo(2, 2)
    expect(figures.speedUpOfCrawl).toBeCloseTo(1 + 20 / 30, 2)
    expect(autoFigures([every(50, 0, 5_000)], [every(50, 0, 5_000)])).toMatchObject({ processes: 1, speedUp: 1 })
  })

  it('runs as long as the help says, and one worker of each kind first', () => {
    expect(secondsOf(planFleets({ quick: true, cores: 2 }), 2)).toBeLessThan(180)
    const full = planFleets({ quick: false, cores: 2 })
    expect(secondsOf(full, 2)).toBeLessThan(12 * 60)
    expect(full.map(({ workers }) => workers)).toEqual([1, 2, 4, 8, 1, 2, 3, 10, 20])
    expect(full.flatMap(({ cells }) => cells).filter(({ pages, workers }) => pages < 10 * workers)).toEqual([])
  })
})

describe('the bench sizing', async () => {
  interface Row {
    readonly name: string
    readonly ratio: number
    readonly holds: boolean
  }
  type Tree = Readonly<Record<string, Readonly<Record<string, number>>>>
  const { judge, MEASURED } = (await import(new URL('../bench/sizing/judge.js', import.meta.url).href)) as {
    judge(figures: Tree, measured: Tree): Row[]
    MEASURED: readonly string[]
  }
  const wrong = (measured: Tree) => judge(FIGURES, measured).flatMap(({ name, holds }) => (holds ? [] : [name]))

  it('measures figures that exist', () => {
    const rows = judge(FIGURES, FIGURES)
    expect(rows.map(({ name }) => name)).toEqual(MEASURED)
    expect(rows.filter(({ ratio }) => ratio !== 1)).toEqual([])
  })

  it('a slower machine is no reason to change a figure of CPU, one that costs more than the others is', () => {
    const { rulesUsPerPage, handlerUsPerPage } = FIGURES.worker
    const slow = { rulesUsPerPage: 3 * rulesUsPerPage, handlerUsPerPage: 3 * handlerUsPerPage }
    expect(wrong({ worker: slow, redis: { usPerCall: 3 * FIGURES.redis.usPerCall } })).toEqual([])
    expect(wrong({ worker: slow, redis: { usPerCall: 7 * FIGURES.redis.usPerCall } })).toEqual(['redis.usPerCall'])
    expect(wrong({ worker: { rulesUsPerPage }, redis: { usPerCall: FIGURES.redis.usPerCall / 3 } })).toEqual([
      'redis.usPerCall',
    ])
  })

  it('bytes are the same on every machine', () => {
    const { bytesPerRecord } = FIGURES.postgres
    const slow = { rulesUsPerPage: 3 * FIGURES.worker.rulesUsPerPage }
    expect(wrong({ worker: slow, postgres: { bytesPerRecord: 1.05 * bytesPerRecord } })).toEqual([])
    expect(wrong({ worker: slow, postgres: { bytesPerRecord: 1.2 * bytesPerRecord } })).toEqual([
      'postgres.bytesPerRecord',
    ])
  })
})
