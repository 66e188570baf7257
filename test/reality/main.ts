import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { stepsFor } from './burn.js'
import { type Comparison, type Course, compare } from './course.js'
import { drawSvg, drawText } from './draw.js'
import { CASES, type RealityCase, realInput, simulatedInput } from './profiles.js'
import { runReal } from './real-run.js'
import { runSimulated } from './simulated-run.js'

const USAGE = `npm run reality -- [name …] [--all] [--json] [--svg <file>]

Runs crawls with real worker processes, a real Redis and real servers, simulates the same crawls, and compares them: end time within 10 %, pages/s
over time, requests, retries, 429s.

${CASES.map(({ name, title }) => `  ${name.padEnd(10)} ${title}`).join('\n')}

  --all      full length: up to 100,000 pages each, about 22 minutes, with nothing else running on this machine. Without it: about 6 minutes
  --json     one line of JSON for each crawl
  --svg      writes both curves of every crawl to this file; --all writes docs/img/reality.svg

Exit codes: 0 all within 10 %; 1 something is not; 2 wrong usage, or a crawl could not be run
(redis-server is missing: apt-get install redis-server).`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    svg: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const unknown = positionals.filter((name) => CASES.every((other) => other.name !== name))
if (unknown.length > 0) {
  console.error(`no such crawl: ${unknown.join(', ')}; there are ${CASES.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

const isShort = !values.all
const chosen = CASES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const panels: { title: string; real: Course; simulated: Course }[] = []
let missed = 0
let notRun = 0
for (const one of chosen) {
  const result = await runCase(one).catch((error: unknown) => {
    console.error(`${one.name} could not be run: ${error instanceof Error ? error.message : String(error)}`)
    return null
  })
  if (result === null) {
    notRun++
    continue
  }
  const { real, simulated, rows } = result
  panels.push({ title: `${one.name}: ${one.title}`, real, simulated })
  if (rows.some(({ holds }) => !holds)) missed++
  if (values.json) console.log(JSON.stringify({ name: one.name, short: isShort, real, simulated, rows }))
  else console.log(shown(one, real, simulated, rows))
}
const svg =
  values.svg ?? (values.all ? fileURLToPath(new URL('../../docs/img/reality.svg', import.meta.url)) : undefined)
if (svg !== undefined && panels.length > 0) writeFileSync(svg, drawSvg(panels))
console.error(
  `${panels.length - missed} of ${chosen.length} crawls within 10 %${notRun === 0 ? '' : `, ${notRun} could not be run`}`,
)
process.exit(missed > 0 ? 1 : notRun > 0 ? 2 : 0)

async function runCase(one: RealityCase) {
  const steps = one.handlerMs === undefined ? 0 : stepsFor(one.handlerMs)
  const real = await runReal(realInput(one, isShort), steps, progress(one.name))
  const simulated = runSimulated(simulatedInput(one, isShort))
  return { real, simulated, rows: compare(real, simulated) }
}

function shown({ name, title }: RealityCase, real: Course, simulated: Course, rows: readonly Comparison[]): string {
  const [load = 0] = loadavg()
  const lines = rows.map(({ name: what, real: is, simulated: said, off, holds }) => {
    const percent = `${off >= 0 ? '+' : '−'}${Math.abs(off * 100).toFixed(1)} %`
    return `  ${holds ? 'pass' : 'MISS'}  ${what.padEnd(18)} ${is.padStart(9)} ${said.padStart(9)} ${percent.padStart(9)}`
  })
  const head = `        ${''.padEnd(18)} ${'real'.padStart(9)} ${'simulated'.padStart(9)} ${'off'.padStart(9)}`
  return `${name}: ${title} (load of the machine ${load.toFixed(1)})\n${head}\n${lines.join('\n')}\n${drawText(real, simulated)}\n`
}

/** Outside of a terminal a line every ten seconds. */
function progress(name: string): (line: string) => void {
  let quietUntil = 0
  return (line) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}: ${line}`)
    else if (performance.now() > quietUntil) {
      process.stderr.write(`${name}: ${line}\n`)
      quietUntil = performance.now() + 10_000
    }
  }
}
