import type { Session } from './session.js'
import { count, duration, percent, rate } from './terminal/format.js'
import { liveLines } from './terminal/live.js'
import { styleFor } from './terminal/style.js'

const DRAW_EVERY_MS = 200

export interface ShownProgress {
  tell(rows: number, pass: string): void
  stop(): void
}

/** One line on a terminal while a file is written: how far, how fast, when it ends where the number of rows is known. */
export function shownProgress({ json, clock }: Session, things: string, total: number | null): ShownProgress {
  if (json || !process.stderr.isTTY) return { tell() {}, stop() {} }
  const live = liveLines(process.stderr)
  const style = styleFor(process.stderr, process.env)
  let begun = clock.now()
  let drawnAt = 0
  let current = ''
  return {
    tell(rows, pass) {
      const now = clock.now()
      if (pass !== current) begun = now
      if (pass === current && now - drawnAt < DRAW_EVERY_MS) return
      current = pass
      drawnAt = now
      live.draw([`${pass}  ${progressText({ rows, total, things, elapsedMs: now - begun }).join(style.dim(' · '))}`])
    },
    stop: () => live.stop(),
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
