import { clean } from './clean.js'
import { timeOfDay } from './format.js'
import type { Style } from './style.js'

/** A JSON log line as text for a terminal; any other line stays as it is. */
export function logText(line: string, style: Style): string {
  try {
    const { time, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>
    const paint = level === 'error' ? style.red : level === 'warn' ? style.yellow : style.dim
    const present = Object.entries(fields).filter(([, value]) => value !== null)
    const text = present.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return (
      clean(`${timeOfDay(Date.parse(String(time)))}  `) +
      paint(clean(String(event))) +
      clean(` ${text.join(' ')}`).trimEnd()
    )
  } catch {
    return clean(line)
  }
}
