import type { Session } from '../session.js'
import { count, duration, percent, progressBar, rate, timeOfDay } from '../terminal/format.js'
import { liveLines } from '../terminal/live.js'
import { stderr } from '../terminal/streams.js'
import { styleFor } from '../terminal/style.js'

const DRAW_EVERY_MS = 200
/** How often a plain progress line is written to a pipe. */
const PLAIN_EVERY_MS = 5_000

export interface ShownProgress {
  /** `total`: if it was not known at the start. */
  report(done: number, pass: string, total?: number): void
  stop(): void
}

/** Progress, rate, and time left if the total is known: a line redrawn in place on a terminal, a line now and then on a pipe, none with --json. */
export function shownProgress({ json, clock }: Session, things: string, whole: number | null): ShownProgress {
  if (json) return { report() {}, stop() {} }
  const live = stderr.isTTY ? liveLines(stderr) : null
  const style = styleFor(stderr, process.env)
  const everyMs = live === null ? PLAIN_EVERY_MS : DRAW_EVERY_MS
  let begun = clock.now()
  let drawnAt = live === null ? begun : 0
  let current = ''
  return {
    report(rows, pass, total = whole ?? undefined) {
      const now = clock.now()
      const isNew = pass !== current
      if (isNew) begun = now
      current = pass
      if (now - drawnAt < everyMs && !(isNew && live !== null)) return
      drawnAt = now
      const text = progressText({ rows, total: total ?? null, things, elapsedMs: now - begun }).join(style.dim(' · '))
      if (live === null) stderr.write(`${timeOfDay(now)}  ${pass}  ${text}\n`)
      else
        live.draw([total === undefined ? `${pass}  ${text}` : `${pass}  ${progressBar(rows, total, style)}  ${text}`])
    },
    stop: () => live?.stop(),
  }
}

export function progressText(at: { rows: number; total: number | null; things: string; elapsedMs: number }): string[] {
  const { rows, total, things, elapsedMs } = at
  const perSecond = elapsedMs > 0 ? (rows * 1000) / elapsedMs : 0
  const parts = [total === null ? `${count(rows)} ${things}` : `${count(rows)} / ${count(total)} ${things}`]
  if (total !== null) parts.push(percent(Math.min(rows, total), total))
  if (perSecond > 0) parts.push(rate(perSecond))
  if (perSecond > 0 && total !== null && total > rows)
    parts.push(`ends in about ${duration(((total - rows) * 1000) / perSecond)}`)
  return parts
}
