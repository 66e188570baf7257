import type { ScenarioResult } from '../chaos/run-scenario.js'
import { type FleetArguments, parseFleetArguments, USAGE } from './arguments.js'
import { fleetHosts, Network } from './network.js'
import { exitCodeOf, showFailure, showFigures, showList, showTable } from './report.js'
import { CannotRun, prepareMachine, takeLock } from './requirements.js'
import { runFleetScenario, SITE_HOSTS } from './run-fleet-scenario.js'
import { SCENARIOS } from './scenarios.js'

/** Outside of a terminal a line now and then is enough. */
const QUIET_MS = 10_000

async function main(): Promise<number> {
  const asked = parseFleetArguments(process.argv.slice(2), () => Math.floor(Math.random() * 1e6))
  if (asked.show !== null) {
    process.stdout.write(asked.show === 'help' ? USAGE : `${showList(SCENARIOS)}\n`)
    return 0
  }
  prepareMachine(asked.chosen.some(({ clock }) => clock !== undefined))
  takeLock()
  const network = new Network(fleetHosts(asked.workers, SITE_HOSTS))
  // After the handlers of the processes' own modules, which end them: a namespace with a process in it stays.
  process.on('exit', () => network.close())
  return await runAll(asked, network)
}

async function runAll(
  { chosen, workers, seed, product, keep, json }: FleetArguments,
  network: Network,
): Promise<number> {
  const results: ScenarioResult[] = []
  let notRun = 0
  for (const [index, scenario] of chosen.entries()) {
    if (!json) console.log(`${index + 1}/${chosen.length} ${scenario.id}: ${scenario.title}`)
    let result: ScenarioResult
    try {
      result = await runFleetScenario(scenario, network, { seed, keep, product, onProgress: progress(json) })
    } catch (error) {
      console.error(`${scenario.id} could not be run: ${error instanceof Error ? error.message : String(error)}`)
      notRun++
      continue
    }
    results.push(result)
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    if (json) console.log(JSON.stringify(result))
    else {
      console.log(showFigures(result))
      if (result.verdict !== 'passed') console.log(showFailure(result, { workers, product, keep }))
    }
  }
  if (!json && results.length > 0) console.log(`\nseed ${seed}, ${workers} workers\n${showTable(results)}`)
  return exitCodeOf(results, notRun)
}

function progress(json: boolean): (line: string) => void {
  let quietUntil = 0
  return (line) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
    else if (!json && performance.now() > quietUntil) {
      process.stderr.write(`  ${line}\n`)
      quietUntil = performance.now() + QUIET_MS
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
process.exit(
  await main().catch((error: unknown) => {
    if (!(error instanceof CannotRun)) throw error
    console.error(error.message)
    return 2
  }),
)
