import { parseArgs } from 'node:util'
import { nearest } from '../../src/nearest.js'
import { CannotRun } from './requirements.js'
import { type FleetScenario, SCENARIOS } from './scenarios.js'

export const USAGE = `npm run fleet -- [options]

A crawl on a fleet of real hosts: one network namespace each for the queue, the store, the site and every worker.
Something breaks, and the site's log, a scan of the queue, the rows in Postgres and the workers' own histories say
whether anything was lost, fetched twice or fetched too fast. Linux and root.

  --scenario a,b   only these
  --all            all of them; without this option those marked * in --list. Each took 2 to 3 minutes on two busy cores
  --list           what there is
  --workers N      3 to 10 (3)
  --seed N         decides which worker is hit, and when (random)
  --product        all workers are \`shoal worker\` as users start it, without a history
  --keep           keep logs and histories
  --json           one JSON line per scenario

Exit codes: 0 all passed, 1 a violation, 2 a run proves nothing or could not start.
`

export interface FleetArguments {
  readonly chosen: readonly FleetScenario[]
  readonly show: 'help' | 'list' | null
  readonly workers: number
  readonly seed: number
  readonly product: boolean
  readonly keep: boolean
  readonly json: boolean
}

const FEWEST_WORKERS = 3
const MOST_WORKERS = 10

export function parseFleetArguments(args: readonly string[], anySeed: () => number): FleetArguments {
  const { values } = parsed(args)
  const workers = wholeNumber('--workers', values.workers)
  if (workers < FEWEST_WORKERS || workers > MOST_WORKERS)
    throw new CannotRun(`--workers ${workers}: a fleet has ${FEWEST_WORKERS} to ${MOST_WORKERS} workers.`)
  return {
    chosen: chosenOf(values.scenario, values.all),
    show: values.help ? 'help' : values.list ? 'list' : null,
    ...{ workers, seed: values.seed === undefined ? anySeed() : wholeNumber('--seed', values.seed) },
    ...{ product: values.product, keep: values.keep, json: values.json },
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        scenario: { type: 'string' },
        workers: { type: 'string', default: '3' },
        seed: { type: 'string' },
        all: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        product: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. ')
    throw new CannotRun(`${what}. See: npm run fleet -- --help`)
  }
}

function chosenOf(names: string | undefined, all: boolean): readonly FleetScenario[] {
  if (names === undefined) return all ? SCENARIOS : SCENARIOS.filter(({ byDefault }) => byDefault)
  return names.split(',').map((name) => {
    const found = SCENARIOS.find(({ id }) => id === name.trim())
    if (found !== undefined) return found
    const near = nearest(
      name,
      SCENARIOS.map(({ id }) => id),
    )
    const meant = near === null ? '' : ` Did you mean ${near}?`
    throw new CannotRun(`There is no scenario '${name}'.${meant} See: npm run fleet -- --list`)
  })
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new CannotRun(`${option} '${text}' is not a whole number.`)
  return value
}
