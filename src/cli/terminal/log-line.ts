import { clean } from './clean.js'
import { timeOfDay } from './format.js'
import type { Style } from './style.js'

/** A line of the log (JSON) as a person reads it on a terminal; what is not one stays as it is. */
export function logText(line: string, style: Style): string {
  try {
    const { time, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>
    const paint = level === 'error' ? style.red : level === 'warn' ? style.yellow : style.dim
    const told = Object.entries(fields).filter(([, value]) => value !== null)
    const text = told.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return (
      clean(`${timeOfDay(Date.parse(String(time)))}  `) +
      paint(clean(String(event))) +
      clean(` ${text.join(' ')}`).trimEnd()
    )
  } catch {
    return clean(line)
  }
}
