import type { Session } from '../session.js'
import { count, duration, percent, rate, timeOfDay } from '../terminal/format.js'
import { liveLines } from '../terminal/live.js'
import { progressBar } from '../terminal/progress-bar.js'
import { styleFor } from '../terminal/style.js'

const DRAW_EVERY_MS = 200
/** Plain lines on a pipe come this often. */
const PLAIN_EVERY_MS = 5_000

export interface ShownProgress {
  /** `total`: where it is known only now. */
  tell(done: number, pass: string, total?: number): void
  stop(): void
}

/** How far some work is, how fast, and when it ends where its whole is known: a line that is drawn again on a terminal, now and then one on a pipe, none for a program. */
export function shownProgress({ json, clock }: Session, things: string, whole: number | null): ShownProgress {
  if (json) return { tell() {}, stop() {} }
  const live = process.stderr.isTTY ? liveLines(process.stderr) : null
  const style = styleFor(process.stderr, process.env)
  const everyMs = live === null ? PLAIN_EVERY_MS : DRAW_EVERY_MS
  let begun = clock.now()
  let drawnAt = live === null ? begun : 0
  let current = ''
  return {
    tell(rows, pass, total = whole ?? undefined) {
      const now = clock.now()
      const isNew = pass !== current
      if (isNew) begun = now
      current = pass
      if (now - drawnAt < everyMs && !(isNew && live !== null)) return
      drawnAt = now
      const text = progressText({ rows, total: total ?? null, things, elapsedMs: now - begun }).join(style.dim(' · '))
      if (live === null) process.stderr.write(`${timeOfDay(now)}  ${pass}  ${text}\n`)
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
