import type { Style } from './style.js'

/** Numbers for people, the same on every machine: no locale. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `3 pages`, `1 page`, `no pages`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return value === 0 ? `no ${many}` : `${count(value)} ${value === 1 ? one : many}`
}

/** The noun of a number that is printed elsewhere: `page` for 1, `pages` otherwise. */
export function noun(value: number, one: string, many = `${one}s`): string {
  return value === 1 ? one : many
}

export function rate(perSecond: number): string {
  if (perSecond >= 100) return `${count(perSecond)}/s`
  if (perSecond >= 1 || perSecond === 0) return `${perSecond.toFixed(1)}/s`
  return `${(perSecond * 60).toFixed(1)}/min`
}

export function duration(ms: number): string {
  if (ms < 0) return duration(0)
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  if (seconds < 59.5) return `${Math.round(seconds)} s`
  const minutes = Math.floor(Math.round(seconds) / 60)
  if (minutes < 60) return `${minutes} min ${two(Math.round(seconds) % 60)} s`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`
}

/** A duration that someone has set, without a rest of zero: `1 h`, not `1 h 00 min`. */
export function setDuration(ms: number): string {
  return duration(ms).replace(/ 0?0 \w+$/, '')
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`
  let scaled = value
  for (const unit of ['kB', 'MB', 'GB']) {
    scaled /= 1000
    if (scaled < 999.5) return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`
  }
  return `${(scaled / 1000).toFixed(1)} TB`
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${Math.floor((part / whole) * 100)} %`
}

/** A share of 1 fills the bar; any share above 0 shows at least one cell. */
export function bar(share: number, width: number): string {
  const full = share > 0 && share * width < 1 ? 1 : Math.floor(share * width)
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** The progress bar of every command that takes time. */
export function progressBar(part: number, whole: number, style: Style, width = 32): string {
  const filled = whole === 0 ? 0 : Math.min(width, Math.floor((part / whole) * width))
  return style.green('━'.repeat(filled)) + style.dim('─'.repeat(width - filled))
}

const HEIGHTS = [...'▁▂▃▄▅▆▇█']

/** The last values as a row of small columns, scaled to the highest; shorter than `width` if there are fewer. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width)
  const highest = Math.max(...shown, 0)
  return shown.map((value) => HEIGHTS[highest <= 0 ? 0 : Math.round((value / highest) * (HEIGHTS.length - 1))]).join('')
}

/** `2026-11-15 12:05:26`, local time. */
export function moment(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOfDay(at)}`
}

export function timeOfDay(at: number): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

export function ago(at: number, now: number): string {
  return now - at < 1000 ? 'just now' : `${duration(now - at)} ago`
}

function two(value: number): string {
  return value.toString().padStart(2, '0')
}
