/** Numbers for people, in English and the same on every machine, so that columns line up. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** 1234567 → `1,234,567` */
export function count(value: number): string {
  return whole.format(value)
}

const SHORT = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** From here a value would round to 1000 of a unit, so the next unit is used. */
const ALMOST = 0.9995

/** 1234567 → `1.2M`; below 10,000 in full. */
export function shortCount(value: number): string {
  if (Math.abs(value) < 10_000) return count(value)
  const [unit, letter] = SHORT.find(([from]) => Math.abs(value) >= from * ALMOST) ?? [1, '']
  return `${threeDigits(value / unit)}${letter}`
}

function threeDigits(value: number): string {
  const digits = Math.abs(value) >= 99.95 ? 0 : 1
  return value.toFixed(digits).replace(/\.0$/, '')
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** 1234567 → `1.2 MB` */
export function bytes(value: number): string {
  let step = 0
  let left = value
  while (left >= 999.5 && step < BYTES.length - 1) {
    left /= 1000
    step += 1
  }
  return `${step === 0 ? whole.format(left) : threeDigits(left)} ${BYTES[step]}`
}

/** Per second: 0.034 → `0.03`, 4.25 → `4.3`, 120.4 → `120` */
export function rate(value: number): string {
  if (value === 0) return '0'
  if (value < 0.005) return '<0.01'
  if (value < 1) return value.toFixed(2)
  return value < 100 ? threeDigits(value) : count(value)
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** 320 → `320 ms`, 4500 → `4.5 s`, 95000 → `1 min 35 s`, 7500000 → `2 h 5 min` */
export function duration(ms: number): string {
  const value = Math.max(0, ms)
  if (value < 999.5) return `${Math.round(value)} ms`
  if (value < 9.95 * SECOND) return `${(value / SECOND).toFixed(1).replace(/\.0$/, '')} s`
  if (value < 59.5 * SECOND) return `${Math.round(value / SECOND)} s`
  const seconds = Math.round(value / SECOND)
  if (seconds < 3600) return two(seconds, 60, 'min', 1, 's')
  const minutes = Math.round(value / MINUTE)
  if (minutes < 24 * 60) return two(minutes, 60, 'h', 1, 'min')
  return two(Math.round(value / HOUR), 24, 'd', 1, 'h')
}

function two(value: number, per: number, large: string, one: number, small: string): string {
  const rest = value % per
  return `${Math.floor(value / per)} ${large}${rest === 0 ? '' : ` ${rest / one} ${small}`}`
}

/** 0.1234 → `12 %`; a small share never shows as 0 %, nor an almost full one as 100 %. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return '<1 %'
  if (share < 1 && share > 0.99) return '>99 %'
  return `${Math.round(share * 100)} %`
}

/** `4 s ago`, `12 min ago`, `just now` */
export function ago(at: number, now: number): string {
  const ms = now - at
  if (ms < SECOND) return 'just now'
  const [unit, name] = AGO.find(([from]) => ms >= from) ?? [SECOND, 's']
  return `${Math.floor(ms / unit)} ${name} ago`
}

const AGO = [
  [24 * HOUR, 'd'],
  [HOUR, 'h'],
  [MINUTE, 'min'],
] as const

/** In the reader's own time zone: today `14:03:22`, else `12 Nov 14:03`, another year with it. */
export function clockTime(at: number, now: number): string {
  const date = new Date(at)
  const today = new Date(now)
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`
  if (date.toDateString() === today.toDateString()) return `${time}:${pad(date.getSeconds())}`
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`
  return date.getFullYear() === today.getFullYear() ? `${day} ${time}` : `${day} ${date.getFullYear()}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** `1 host`, `3 hosts` */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** `category=shoes max=10`. */
export function argumentsText(args: Readonly<Record<string, unknown>>): string {
  return Object.entries(args)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
