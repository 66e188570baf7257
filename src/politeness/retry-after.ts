const SECONDS = /^\d{1,15}(\s*,\s*\d{1,15})*$/
const HTTP_DATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT/

/**
 * How long a Retry-After header asks to wait, in milliseconds; null if it has no usable value, 0 for a date in the past. Repeated headers arrive
 * joined with ', ': of several numbers the longest wait counts, of several dates the first. Not capped here. Date.parse alone would do harm: it reads
 * '-1' as a month of 2001.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? ''
  if (SECONDS.test(text)) return Math.max(...text.split(',').map(Number)) * 1000
  const date = HTTP_DATE.exec(text)?.[0]
  if (date === undefined) return null
  const at = Date.parse(date)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

/** The same for a response on its own: a date is relative to the clock of the server that wrote it. */
export function retryAfterIn(headers: Readonly<Record<string, string>>): number | null {
  const waitMs = parseRetryAfter(headers['retry-after'], Date.parse(headers.date ?? ''))
  return Number.isNaN(waitMs) ? null : waitMs
}
