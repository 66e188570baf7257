import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { stepsFor } from './burn.js'
import { type Comparison, type Course, compare, percent, verdict } from './course.js'
import { drawSvg, drawText } from './draw.js'
import { CASES, type RealityCase, realInput, simulatedInput } from './profiles.js'
import { runReal, TookTooLong } from './real-run.js'
import { runSimulated } from './simulated-run.js'

const USAGE = `npm run reality -- [name …] [--full] [--json] [--svg <file>]

Runs crawls with real worker processes, a real Redis and real servers, simulates the same crawls, and compares them: end time within 10 %, pages/s
over time, requests, retries, 429s.

${CASES.map(({ name, title }) => `  ${name.padEnd(10)} ${title}`).join('\n')}

  --full     full length, with nothing else running on this machine: 100,000 pages in about 4 minutes for \`pace\`, about 22 minutes for all.
             Without it: a minute for each
  --json     one line of JSON for each crawl
  --svg      writes both curves of every crawl to this file; --full of all crawls writes docs/img/reality.svg

Exit codes: 0 all within 10 %; 1 something is not, or a crawl was not at its end after twice the simulated time; 2 wrong usage, or a crawl could not
be run (redis-server is missing: apt-get install redis-server).

  npm run reality -- pace --full
  npm run reality -- throttled proxies --svg curves.svg`

/** A real crawl gets twice its simulated time, and this for a busy machine. */
const SLACK_MS = 60_000
const CURVES = fileURLToPath(new URL('../../docs/img/reality.svg', import.meta.url))

const { values, positionals } = givenArguments()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const unknown = positionals.filter((name) => CASES.every((other) => other.name !== name))
if (unknown.length > 0)
  wrongUsage(`no such crawl: ${unknown.join(', ')}; there are ${CASES.map(({ name }) => name).join(', ')}`)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

const isShort = !values.full
const chosen = CASES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const panels: { title: string; real: Course; simulated: Course }[] = []
let missed = 0
let notRun = 0
for (const one of chosen) {
  try {
    const { real, simulated, rows } = await runCase(one)
    panels.push({ title: `${one.name}: ${one.title}`, real, simulated })
    if (rows.some(({ holds }) => !holds)) missed++
    if (values.json) console.log(JSON.stringify({ name: one.name, short: isShort, real, simulated, rows }))
    else console.log(shown(one, real, simulated, rows))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof TookTooLong) missed++
    else notRun++
    console.error(`${one.name} ${error instanceof TookTooLong ? 'took too long' : 'could not be run'}: ${message}`)
  }
}
const svg = values.svg ?? (values.full && chosen.length === CASES.length ? CURVES : undefined)
if (svg !== undefined && panels.length > 0) writeFileSync(svg, drawSvg(panels))
const held = chosen.length - missed - notRun
console.error(`${held} of ${chosen.length} crawls within 10 %${notRun === 0 ? '' : `, ${notRun} could not be run`}`)
process.exit(missed > 0 ? 1 : notRun > 0 ? 2 : 0)

function givenArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        full: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        svg: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    return wrongUsage(error instanceof Error ? error.message : String(error))
  }
}

function wrongUsage(message: string): never {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}

async function runCase(one: RealityCase) {
  const simulated = runSimulated(simulatedInput(one, isShort))
  const limits = {
    burnSteps: one.handlerMs === undefined ? 0 : stepsFor(one.handlerMs),
    mostMs: 2 * simulated.endMs + SLACK_MS,
  }
  const real = await runReal(realInput(one, isShort), limits, progress(one.name))
  return { real, simulated, rows: compare(real, simulated) }
}

function shown({ name, title }: RealityCase, real: Course, simulated: Course, rows: readonly Comparison[]): string {
  const [load = 0] = loadavg()
  const lines = rows.map(
    ({ name: what, real: is, simulated: said, off, holds }) =>
      `  ${holds ? 'pass' : 'MISS'}  ${what.padEnd(18)} ${is.padStart(9)} ${said.padStart(9)} ${percent(off).padStart(9)}`,
  )
  const head = `        ${''.padEnd(18)} ${'real'.padStart(9)} ${'simulated'.padStart(9)} ${'off'.padStart(9)}`
  const pages = real.endedBySecond.reduce((sum, count) => sum + count, 0)
  return [
    `${name}: ${title} (${pages.toLocaleString('en')} pages, load of the machine ${load.toFixed(1)})`,
    ...[head, ...lines, drawText(real, simulated), verdict(rows), ''],
  ].join('\n')
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
