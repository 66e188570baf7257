import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { EXIT, ShoalError } from '../../errors.js'
import type { Profile } from '../../simulate/profile.js'
import type { SimulationResult } from '../../simulate/result.js'
import { parseDuration } from '../../units.js'
import { guide } from '../help.js'
import { acts, type Session, wholeNumber, wholeNumberOrAuto } from '../session.js'
import { type Signals, withSignals } from '../signals.js'
import { type ArgFlags, argOption, spiderByWord, spiderUnknown } from '../spider-choice.js'
import { simulateProgress } from '../views/simulate-progress.js'
import { showSimulation } from '../views/simulate-view.js'

/** A crawl this small is simulated several times: chance shows in its end. */
const SMALL_URLS = 100_000
const RUNS_OF_SMALL = 5

interface SimulateFlags extends ArgFlags {
  readonly urls?: number
  readonly hosts?: number
  readonly seeds?: number | 'all'
  readonly workers?: number
  readonly concurrency?: number | 'auto'
  /** As text: `proxies` is also the name of a setting, which is a file. */
  readonly proxies?: string
  readonly delay?: string
  readonly latency?: string
  readonly seed?: number
  readonly runs?: number
  readonly priceWorkerHour?: number
  readonly priceGbMonth?: number
  readonly priceTrafficGb?: number
  readonly priceProxyGb?: number
}

export function simulateCommand(program: Command): void {
  const command = program
    .command('simulate')
    .description(
      'estimate a crawl before you run it: when it ends, what limits it, how many workers it needs, what it costs',
    )
    .argument('[spider|profile]', 'spider file (.ts, .js), or a profile (.json) that describes the crawl and the web')
    .option('--urls <n>', 'number of URLs, such as 5000000, 5e6 or 5m (default: 100000)', quantity)
    .option('--hosts <n>', "number of hosts (default: those of the spider's start URLs)", quantity)
    .option(
      '--seeds <n>',
      "URLs known at the start; 'all': none is found by links (default: one per host)",
      quantityOrAll,
    )
    .option('--workers <n>', 'number of worker processes (default: 1)', wholeNumber)
    .option('--concurrency <n>', 'pages that a worker visits at once (default: 64)', wholeNumberOrAuto)
    .option('--proxies <n>', 'number of proxies; each keeps the pace of the spider on every host')
    .option('--delay <duration>', "delay between two requests to a host, instead of the spider's", durationText)
    .option('--latency <duration>', 'median response time of the hosts (default: 300ms)', durationText)
    .option('--price-worker-hour <price>', 'price of a worker for an hour', price)
    .option('--price-gb-month <price>', 'price of a stored GB for a month', price)
    .option('--price-traffic-gb <price>', 'price of a received GB', price)
    .option('--price-proxy-gb <price>', 'price of a GB through proxies', price)
    .option('--seed <n>', 'another seed gives another web and another chance (default: 1)', seedNumber)
    .option(
      '--runs <n>',
      `simulate it this often, with different seeds (default: ${RUNS_OF_SMALL} for small crawls)`,
      wholeNumber,
    )
    .action(
      acts(async (session, word: string | undefined, flags: SimulateFlags) => {
        const profile = await profileFor(session, word, flags)
        const runs = flags.runs ?? (profile.urls <= SMALL_URLS ? RUNS_OF_SMALL : 1)
        const progress = simulateProgress(session.json, session.clock)
        return withSignals(
          () => {},
          async (signals) => {
            const results = await simulateRuns(profile, runs, signals, progress)
            progress.stop()
            const [first] = results
            if (first === undefined) throw new ShoalError('interrupted', 'stopped before anything was simulated')
            if (session.json) session.output.json({ ...first, ends: endsOf(results) })
            else showSimulation(session.output, profile, first, endsOf(results))
            return first.complete ? EXIT.ok.code : signals.exitCode()
          },
        ).finally(progress.stop)
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['simulate books.ts --urls 1e6', 'your own spider: its pace, retries and limits on a million URLs'],
      ['simulate books.ts --urls 1e6 --workers 8 --proxies 50', 'would workers or proxies help?'],
      ['simulate --hosts 100000 --urls 1e8 --workers 50', 'a broad crawl'],
      ['simulate shop.json --price-worker-hour 0.04 --json', 'a profile, with its cost, as JSON'],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
}

async function simulateRuns(
  profile: Profile,
  runs: number,
  signals: Signals,
  progress: ReturnType<typeof simulateProgress>,
): Promise<SimulationResult[]> {
  const { simulateWatched } = await import('../../simulate/simulate.js')
  const results: SimulationResult[] = []
  for (let run = 0; run < runs && !signals.drain.aborted; run++) {
    const result = await simulateWatched(
      { ...profile, seed: profile.seed + run },
      {
        progress: async (simulation) => {
          await progress.show(simulation, run, runs)
          return !signals.drain.aborted
        },
      },
    )
    // A later run that was interrupted says nothing; the first is shown as far as it got.
    if (result.complete || run === 0) results.push(result)
  }
  return results
}

/** When the runs end, from the earliest to the latest. */
function endsOf(results: readonly SimulationResult[]): { p10: number; p50: number; p90: number } | null {
  const ends = results.filter(({ complete }) => complete).map(({ endMs }) => endMs)
  if (ends.length < 2) return null
  ends.sort((a, b) => a - b)
  const at = (share: number) => ends[Math.round(share * (ends.length - 1))] ?? 0
  return { p10: at(0.1), p50: at(0.5), p90: at(0.9) }
}

async function profileFor(session: Session, word: string | undefined, flags: SimulateFlags): Promise<Profile> {
  const { profileOf } = await import('../../simulate/profile.js')
  if (word?.endsWith('.json')) {
    const given = await readProfile(word)
    try {
      return profileOf(withFlags(given, flags), null, word)
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      throw new ShoalError('usage', `${word}: ${error.message}`, { hint: error.hint, cause: error })
    }
  }
  if (word === undefined) return profileOf(withFlags({}, flags))
  const spider = await spiderByWord(session, word, flags.arg)
  if (spider === null) throw spiderUnknown(word, 'shoal simulate <file>')
  return profileOf(withFlags({}, flags), spider)
}

async function readProfile(file: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ShoalError('usage', `${file}: ${error.code === 'ENOENT' ? 'there is no such file' : 'cannot be read'}`, {
      hint: 'A profile is a JSON file; docs/simulate.md describes it.',
      cause: error,
    })
  })
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch (error) {
    throw new ShoalError('usage', `${file}: is not JSON: ${error instanceof Error ? error.message : ''}`, {
      hint: 'A profile is a JSON object; docs/simulate.md describes it.',
    })
  }
  throw new ShoalError('usage', `${file}: is not a JSON object`, { hint: 'docs/simulate.md describes profiles.' })
}

/** Flags win over the profile. */
function withFlags(given: Readonly<Record<string, unknown>>, flags: SimulateFlags): Record<string, unknown> {
  const { urls, hosts, seeds, workers, concurrency, proxies, delay, latency, seed } = flags
  const part = (name: string) => (typeof given[name] === 'object' ? { ...given[name] } : {})
  const prices = {
    ...(flags.priceWorkerHour !== undefined && { workerHour: flags.priceWorkerHour }),
    ...(flags.priceGbMonth !== undefined && { gbMonth: flags.priceGbMonth }),
    ...(flags.priceTrafficGb !== undefined && { trafficGb: flags.priceTrafficGb }),
    ...(flags.priceProxyGb !== undefined && { proxyGb: flags.priceProxyGb }),
  }
  return {
    ...given,
    ...(urls !== undefined && { urls }),
    ...(hosts !== undefined && { hosts }),
    ...(seeds !== undefined && { seeds }),
    ...(workers !== undefined && { workers }),
    ...(typeof concurrency === 'number' && { concurrency }),
    ...(proxies !== undefined && { proxies: { ...part('proxies'), count: proxyCount(proxies) } }),
    ...(delay !== undefined && { pace: { ...part('pace'), delay: delay === '0' ? 0 : delay } }),
    ...(latency !== undefined && { latency: { ...part('latency'), median: latency === '0' ? 0 : latency } }),
    ...(seed !== undefined && { seed }),
    ...(Object.keys(prices).length > 0 && { prices: { ...part('prices'), ...prices } }),
  }
}

function proxyCount(text: string): number {
  if (/^\d+$/.test(text) && Number(text) >= 1) return Number(text)
  throw new ShoalError('usage', `--proxies: '${text}' is not a number`, {
    hint: 'Here it is the number of proxies, such as --proxies 50.',
  })
}

const SCALE: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9 }

/** `100000`, `1e5`, `100k`, `1.5m`. */
function quantity(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(?:e(\d{1,2})|([kmb]))?$/i.exec(text.replaceAll(/[_,]/g, ''))
  const power = match?.[2] === undefined ? (SCALE[match?.[3]?.toLowerCase() ?? ''] ?? 1) : 10 ** Number(match[2])
  const value = match === null ? Number.NaN : Number(match[1]) * power
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new InvalidArgumentError('Expected a whole number, 1 or more, such as 100000, 1e5 or 100k.')
}

function quantityOrAll(text: string): number | 'all' {
  return text === 'all' ? text : quantity(text)
}

/** Checked here and read with the profile, which takes text too. */
function durationText(text: string): string {
  try {
    parseDuration(text === '0' ? 0 : text)
    return text
  } catch {
    throw new InvalidArgumentError('Expected a duration, such as 500ms, 2s or 5min.')
  }
}

function seedNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number below 1,000,000,000.')
}

function price(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new InvalidArgumentError('Expected a price, such as 0.04.')
}
