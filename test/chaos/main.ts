import { parseArgs } from 'node:util'
import { DATA_FAULTS } from './faults/data-faults.js'
import { MIXES, RESULTS, SHORT, STANDARD } from './faults/mixes.js'
import { NETWORK_FAULTS } from './faults/network-faults.js'
import { POSTGRES_FAULTS } from './faults/postgres-faults.js'
import { REDIS_FAULTS } from './faults/redis-faults.js'
import { ROW_FAULTS } from './faults/row-faults.js'
import { WORKER_FAULTS } from './faults/worker-faults.js'
import { showResult, showTable } from './report.js'
import { type RunOptions, runScenario, type Scenario, type ScenarioResult } from './run-scenario.js'

const USAGE = `npm run chaos -- [--standard] [--fault X1,X4 | all] [--seed N] [--minutes M] [--pages N] [--workers N]
                [--queue redis | sqlite] [--store sqlite | postgres] [--down-s S] [--json] [--keep]
npm run chaos -- --results          the long run with the records in Postgres`

const { values } = parseArgs({
  options: {
    standard: { type: 'boolean', default: false },
    results: { type: 'boolean', default: false },
    fault: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '20' },
    pages: { type: 'string' },
    workers: { type: 'string', default: '4' },
    hosts: { type: 'string', default: '50' },
    'delay-ms': { type: 'string', default: '100' },
    'lease-ms': { type: 'string', default: '5000' },
    queue: { type: 'string', default: 'redis' },
    store: { type: 'string', default: 'sqlite' },
    'down-s': { type: 'string' },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const SINGLE = [
  ...WORKER_FAULTS,
  ...REDIS_FAULTS,
  ...NETWORK_FAULTS,
  ...DATA_FAULTS,
  ...POSTGRES_FAULTS,
  ...ROW_FAULTS,
].sort((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)))

function chosen(): readonly Scenario[] {
  if (values.standard) return [STANDARD]
  if (values.results) return [RESULTS]
  if (values.fault === undefined) return [SHORT]
  if (values.fault === 'all') return SINGLE.filter(({ needsRedis }) => values.queue === 'redis' || !needsRedis)
  return values.fault.split(',').map((id) => {
    const scenario = [...SINGLE, ...MIXES].find((other) => other.id.toLowerCase() === id.toLowerCase())
    if (scenario === undefined) {
      console.error(`no such fault: ${id}; there are ${SINGLE.map((other) => other.id).join(' ')}`)
      process.exit(2)
    }
    return scenario
  })
}

if (values.help) {
  console.log(USAGE)
  for (const { id, title } of [...SINGLE, ...MIXES]) console.log(`  ${id.padEnd(9)} ${title}`)
  process.exit(0)
}

/** Outside of a terminal a line now and then is enough. */
let quietUntil = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

const options: RunOptions = {
  queue: values.queue === 'sqlite' ? 'sqlite' : 'redis',
  store: values.store === 'postgres' ? 'postgres' : 'sqlite',
  seed: values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed),
  pages: values.pages === undefined ? null : Number(values.pages),
  workers: Number(values.workers),
  hosts: Number(values.hosts),
  delayMs: Number(values['delay-ms']),
  leaseMs: Number(values['lease-ms']),
  minutes: Number(values.minutes),
  awayMs: values['down-s'] === undefined ? null : 1000 * Number(values['down-s']),
  keep: values.keep,
  onProgress: (line) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
    else if (!values.json && performance.now() > quietUntil) {
      process.stderr.write(`${line}\n`)
      quietUntil = performance.now() + 10_000
    }
  },
}

const results: ScenarioResult[] = []
let notRun = 0
for (const scenario of chosen()) {
  const result = await runScenario(scenario, options).catch((error: unknown) => {
    // Not here: a small disk needs root, redis-server may be missing.
    console.error(`${scenario.id} could not be run: ${error instanceof Error ? error.message : String(error)}`)
    return null
  })
  if (result === null) {
    notRun++
    continue
  }
  results.push(result)
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  if (values.json) console.log(JSON.stringify(result))
  else console.log(showResult(result, options))
}
if (!values.json && results.length > 1) console.log(showTable(results))
const worst = results.some(({ verdict }) => verdict === 'violated')
  ? 1
  : notRun > 0 || results.some(({ verdict }) => verdict === 'invalid')
    ? 2
    : 0
process.exit(worst)
