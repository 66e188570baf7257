import { checkPoliteness, type SeenAccess } from '../support/access-log.js'
import type { Ending } from './kubelet.js'
import type { Sample } from './plot.js'

export interface Evidence {
  readonly log: readonly SeenAccess[]
  readonly delayMs: number
  /** When the second crawl began: it visits the same pages again. */
  readonly secondFrom: number
  /** Pages that the processes of a lost node may have had in flight. */
  readonly inFlightAtLoss: number
  readonly endings: readonly Ending[]
  readonly samples: readonly Sample[]
  /** What the autoscaler may not exceed. */
  readonly mostWorkers: number
  readonly expectedPages: number
  readonly records: number
}

/** What must hold, by the log of the site, the exit codes and the samples. Each line is a violation. */
export function judge(evidence: Evidence): string[] {
  const { log, delayMs, secondFrom, endings } = evidence
  const twice = [repeats(log.filter(({ t }) => t < secondFrom)), repeats(log.filter(({ t }) => t >= secondFrom))]
  const violations = [...checkPoliteness(log, { delayMs, concurrency: 1 }).violations]
  if ((twice[0] ?? 0) > 0) violations.push(`${twice[0]} pages of the first crawl were fetched twice`)
  if ((twice[1] ?? 0) > evidence.inFlightAtLoss)
    violations.push(
      `${twice[1]} pages of the second crawl were fetched twice; the lost node had at most ${evidence.inFlightAtLoss} in flight`,
    )
  for (const { pod, code, tookS, graceS, lost } of endings) {
    if (lost) continue
    if (code !== 0) violations.push(`${pod} ended with ${code}`)
    if (tookS !== null && tookS > graceS) violations.push(`${pod} took ${tookS.toFixed(0)} s of ${graceS} s to stop`)
  }
  if (evidence.records !== evidence.expectedPages)
    violations.push(`${evidence.records} records of ${evidence.expectedPages} pages`)
  return [...violations, ...strays(evidence.samples, evidence.mostWorkers)]
}

function repeats(entries: readonly SeenAccess[]): number {
  const pages = entries.filter(({ path }) => path !== '/robots.txt').map(({ host, path }) => `${host}${path}`)
  return pages.length - new Set(pages).size
}

/** The window of the manifest (60 s), a reading (5 s), and the time that stopping takes. */
const DOWN_S = 85
/** A rolling update may start so many more than wanted (maxSurge of the manifest). */
const SURGE = 0.25
/** Two readings, and the time that a start takes on a busy machine. */
const UP_S = 40

/** Replicas follow: never more than was useful within the last window, never fewer than was useful all the time lately. One more or less is the autoscaler's tolerance. */
export function strays(samples: readonly Sample[], mostWorkers: number): string[] {
  const found: string[] = []
  for (const { t, running } of samples) {
    const within = (seconds: number) =>
      samples
        .filter((old) => old.t <= t && old.t > t - seconds && old.useful !== null)
        .map((old) => Math.min(old.useful ?? 0, mostWorkers))
    const most = Math.max(...within(DOWN_S))
    const least = Math.min(...within(UP_S))
    if (!Number.isFinite(most) || !Number.isFinite(least)) continue
    if (t > DOWN_S && running > most + Math.max(1, Math.ceil(most * SURGE)))
      found.push(`second ${t}: ${running} workers, at most ${most} were useful`)
    if (t > UP_S && running < least - 1) found.push(`second ${t}: ${running} workers, at least ${least} were useful`)
  }
  return found
}
