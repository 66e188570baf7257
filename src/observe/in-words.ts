/** A duration for people. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 10) return `${(ms / 1_000).toFixed(1)} s`
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** `3 links`, `1 link`, `no links`. */
export function some(count: number, one: string): string {
  return count === 0 ? `no ${one}s` : `${count} ${one}${count === 1 ? '' : 's'}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
