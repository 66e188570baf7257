/** How a crawl went, real or simulated: the same measures of both. Times in milliseconds since its start. */
export interface Course {
  /** When the last page ended. */
  readonly endMs: number
  /** Pages that ended in each second, in order. */
  readonly endedBySecond: readonly number[]
  readonly requests: number
  readonly retries: number
  readonly throttled: number
  readonly dead: number
}

export interface Comparison {
  readonly name: string
  readonly real: string
  readonly simulated: string
  /** Simulated ÷ real, or how far apart as a share of the whole time. */
  readonly off: number
  readonly holds: boolean
}

/** The bar of the end time, and of every point of the curve as a share of the whole time. */
const MOST_OFF = 0.1
/** Counts of rare things differ by chance: so many standard deviations are no difference. */
const SIGMAS = 4
const POINTS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99]

export function compare(real: Course, simulated: Course): Comparison[] {
  return [
    times('end', real.endMs, simulated.endMs, real.endMs),
    ...POINTS.map((share) =>
      times(`${share * 100} % of the pages`, reached(real, share), reached(simulated, share), real.endMs),
    ),
    counts('requests', real.requests, simulated.requests),
    counts('retries', real.retries, simulated.retries),
    counts('429s', real.throttled, simulated.throttled),
    counts('dead letters', real.dead, simulated.dead),
  ]
}

/** The bar that every crawl has to meet, on one line. */
export function verdict([end]: readonly Comparison[]): string {
  if (end === undefined) return 'nothing was compared'
  return `end: real ${end.real}, simulated ${end.simulated}, ${percent(end.off)} (bar ±${MOST_OFF * 100} %)`
}

export function percent(share: number): string {
  return `${share >= 0 ? '+' : '−'}${Math.abs(share * 100).toFixed(1)} %`
}

function times(name: string, real: number, simulated: number, whole: number): Comparison {
  const off = (simulated - real) / whole
  return { name, real: seconds(real), simulated: seconds(simulated), off, holds: Math.abs(off) <= MOST_OFF }
}

function counts(name: string, real: number, simulated: number): Comparison {
  const off = real === 0 ? (simulated === 0 ? 0 : 1) : (simulated - real) / real
  const chance = SIGMAS * Math.sqrt(real + simulated)
  const holds = Math.abs(simulated - real) <= Math.max(MOST_OFF * real, chance)
  return { name, real: String(real), simulated: String(simulated), off, holds }
}

/** When this share of the pages had ended. */
export function reached({ endedBySecond, endMs }: Course, share: number): number {
  const wanted = share * endedBySecond.reduce((sum, count) => sum + count, 0)
  let before = 0
  for (const [second, count] of endedBySecond.entries()) {
    if (count > 0 && before + count >= wanted) return Math.min(endMs, (second + (wanted - before) / count) * 1_000)
    before += count
  }
  return endMs
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
