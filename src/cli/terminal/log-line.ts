import { clean } from './clean.js'
import { timeOfDay } from './format.js'
import type { Style } from './style.js'

/** A JSON log line as text for a terminal; any other line stays as it is. */
export function logText(line: string, style: Style): string {
  try {
    const { time, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>
    if (event === 'page.log' || event === 'spider.output')
      return spiderText(timeOfDay(Date.parse(String(time))), String(level), fields, style)
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

/** What spider code wrote, as it wrote it, then the page it belongs to. */
function spiderText(time: string, level: string, fields: Readonly<Record<string, unknown>>, style: Style): string {
  const { message, route, url } = fields
  const paint = level === 'error' ? style.red : level === 'warn' ? style.yellow : (text: string) => text
  const page = url === undefined ? [] : [style.dim(clean(`${route} ${url}`))]
  const [first = '', ...rest] = String(message)
    .split('\n')
    .map((line) => clean(line.replaceAll('\t', '  ')))
  if (rest.length === 0) return [time, paint(first), ...page].join('  ')
  const indent = ' '.repeat(time.length + 2)
  const lines = [first, ...rest].map((line) => (line === '' ? '' : indent + paint(line)))
  return [[time, ...(page.length > 0 ? page : [style.dim('spider')])].join('  '), ...lines].join('\n')
}
