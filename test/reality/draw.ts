import type { Course } from './course.js'

const BARS = ' ▁▂▃▄▅▆▇█'

/** Pages per second of both over the same time, as two lines of text. */
export function drawText(real: Course, simulated: Course, columns = 60): string {
  const [one, other, most] = ratesOf(real, simulated, columns)
  const line = (rates: readonly number[]) =>
    rates.map((rate) => BARS[Math.ceil((rate / most) * (BARS.length - 1))] ?? ' ').join('')
  return `  real       ${line(one)}\n  simulated  ${line(other)}\n             0 … ${Math.ceil(longest(real, simulated) / 1_000)} s, up to ${Math.round(most)} pages/s`
}

const WIDTH = 720
const HEIGHT = 180
const TITLE = 28
const PAD = 44
const GAP = 22
const STEPS = 120

/** One panel for each crawl: pages per second over time, real as a grey area, simulated as a line. */
export function drawSvg(panels: readonly { title: string; real: Course; simulated: Course }[]): string {
  const tall = TITLE + HEIGHT + GAP
  const body = panels.map((panel, nth) => `<g transform="translate(0 ${nth * tall})">${panelOf(panel)}</g>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${panels.length * tall + GAP}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${body.join('\n')}
</svg>
`
}

function panelOf({ title, real, simulated }: { title: string; real: Course; simulated: Course }): string {
  const [one, other, most] = ratesOf(real, simulated, STEPS)
  const x = (step: number) => (PAD + (step / (STEPS - 1)) * (WIDTH - 2 * PAD)).toFixed(1)
  const y = (rate: number) => (TITLE + HEIGHT - (rate / most) * (HEIGHT - GAP)).toFixed(1)
  const path = (rates: readonly number[]) => rates.map((rate, step) => `${x(step)},${y(rate)}`).join(' ')
  const bottom = TITLE + HEIGHT
  const end = Math.ceil(longest(real, simulated) / 1_000)
  return [
    `<text x="${PAD}" y="${TITLE - 8}" font-weight="bold">${title}</text>`,
    `<polygon fill="#c9d3dd" points="${PAD},${bottom} ${path(one)} ${WIDTH - PAD},${bottom}"/>`,
    `<polyline fill="none" stroke="#c2410c" stroke-width="1.5" points="${path(other)}"/>`,
    `<line x1="${PAD}" y1="${bottom}" x2="${WIDTH - PAD}" y2="${bottom}" stroke="#555"/>`,
    `<text x="${PAD}" y="${bottom + 15}" fill="#555">0</text>`,
    `<text x="${WIDTH - PAD}" y="${bottom + 15}" fill="#555" text-anchor="end">${end} s</text>`,
    `<text x="${PAD - 6}" y="${TITLE + GAP + 4}" fill="#555" text-anchor="end">${Math.round(most)}/s</text>`,
    `<text x="${WIDTH - PAD}" y="${TITLE - 8}" text-anchor="end"><tspan fill="#7a8896">■ real</tspan> <tspan fill="#c2410c">— simulated</tspan></text>`,
  ].join('')
}

/** Both rates in `steps` stretches of the longer time, and the highest of them. */
function ratesOf(real: Course, simulated: Course, steps: number): [number[], number[], number] {
  const whole = longest(real, simulated)
  const [one, other] = [real, simulated].map((course) => rates(course, whole, steps))
  return [one ?? [], other ?? [], Math.max(1e-9, ...(one ?? []), ...(other ?? []))]
}

function rates({ endedBySecond }: Course, wholeMs: number, steps: number): number[] {
  const stretch = Math.max(1, Math.ceil(wholeMs / 1_000)) / steps
  return Array.from({ length: steps }, (_, step) => {
    // At least a second: shorter stretches of a short crawl would show the same one several times.
    const from = Math.floor(step * stretch)
    const to = Math.max(from + 1, Math.floor((step + 1) * stretch))
    const ended = endedBySecond.slice(from, to).reduce((sum, count) => sum + count, 0)
    return ended / (to - from)
  })
}

function longest(real: Course, simulated: Course): number {
  return Math.max(real.endMs, simulated.endMs)
}
