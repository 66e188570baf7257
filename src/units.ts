import { ShoalError } from './errors.js'

export type TimeUnit = 'ms' | 's' | 'min' | 'h' | 'd'
export type SizeUnit = 'b' | 'kb' | 'mb' | 'gb' | 'tb'

/** A number with a unit. A bare number is refused, because nobody remembers whether it meant seconds; 0 needs no unit. */
export type Duration = `${number}${TimeUnit}` | `${number} ${TimeUnit}` | 0
/** A count per unit of time. */
export type Rate = `${number}/${'s' | 'min' | 'h' | 'd'}`
/** Bytes, or a number with a unit of 1,024. */
export type Size = number | `${number}${SizeUnit}` | `${number} ${SizeUnit}`

const TIME_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZE_BYTES: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

export function parseDuration(value: unknown): number {
  if (value === 0) return 0
  const ms = typeof value === 'string' ? withUnit(value, /^(\d+(?:\.\d+)?)\s?(ms|s|min|h|d)$/, TIME_MS) : null
  if (ms === null) throw new ShoalError('bad_duration', `${shown(value)} is not a duration`)
  return Math.round(ms)
}

export function parseRate(value: unknown): { readonly count: number; readonly perMs: number } {
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s?\/\s?(s|min|h|d)$/.exec(value) : null
  const count = Number(match?.[1])
  const perMs = TIME_MS[match?.[2] ?? '']
  if (!(count > 0) || perMs === undefined) throw new ShoalError('bad_rate', `${shown(value)} is not a rate`)
  return { count, perMs }
}

/** null when it cannot be read. */
export function parseSize(value: unknown): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null
  const bytes =
    typeof value === 'string' ? withUnit(value.toLowerCase(), /^(\d+(?:\.\d+)?)\s?(b|kb|mb|gb|tb)$/, SIZE_BYTES) : null
  return bytes === null ? null : Math.round(bytes)
}

function withUnit(text: string, form: RegExp, units: Readonly<Record<string, number>>): number | null {
  const match = form.exec(text)
  const unit = units[match?.[2] ?? '']
  return match === null || unit === undefined ? null : Number(match[1]) * unit
}

/** A value in a message: short, on one line. Never throws: it is used for whatever was given instead of what was expected. */
export function shown(value: unknown): string {
  const line = textFor(value).replace(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 77)}...` : line
}

function textFor(value: unknown): string {
  try {
    if (typeof value === 'string') return `'${value.slice(0, 200)}'`
    if (typeof value === 'function') return 'a function'
    if (typeof value === 'bigint') return `${value}n`
    return (JSON.stringify(value) ?? String(value)).slice(0, 200)
  } catch {
    return typeof value === 'object' ? 'an object' : `a ${typeof value}`
  }
}
