import { adviceFor, limitText } from '../../simulate/advice.js'
import type { Profile } from '../../simulate/profile.js'
import type { LastHost, SimulationResult } from '../../simulate/result.js'
import type { Output } from '../output.js'
import { bytes, count, duration, plural, rate, sparkline } from '../terminal/format.js'
import { wrap } from '../terminal/width.js'

/** Columns of the drawing, whatever the terminal has more. */
const MOST_COLUMNS = 100
const LABEL = 12
/** Hosts of the tail that are named. */
const HOSTS_SHOWN = 3

type Ends = { readonly p10: number; readonly p90: number } | null

export function showSimulation(
  output: Pick<Output, 'print' | 'style' | 'width'>,
  profile: Profile,
  result: SimulationResult,
  ends: Ends,
): void {
  const { print, style, width } = output
  const line = (label: string, text: string) => {
    const [first = '', ...more] = wrap(text, Math.max(40, Math.min(width, 160) - LABEL))
    print(`${style.dim(label.padEnd(LABEL))}${first}`)
    for (const next of more) print(' '.repeat(LABEL) + next.trimStart())
  }
  if (!result.complete)
    print(style.yellow(`stopped: this is what happens in the first ${duration(result.endMs)}, not the whole crawl`))
  print(style.bold(titleOf(profile)))
  print()
  line(result.complete ? 'ends after' : 'simulated', endText(result, ends))
  line('pages', pagesText(result))
  line('pace', `${rate(result.pagesPerSecond.mean)} on average, ${rate(result.pagesPerSecond.most)} at most`)
  line('', courseText(result, Math.min(MOST_COLUMNS, (Number.isFinite(width) ? width : 80) - LABEL)))
  line(
    'limited by',
    result.limits
      .slice(0, 3)
      .map(({ limit, share }) => `${limitText(limit)} ${shareText(share)}`)
      .join(', '),
  )
  line('the end', tailText(result))
  line('workers', workersText(result))
  line('requests', requestsText(result))
  line(
    'queue',
    `${bytes(result.queue.bytes)} (${plural(result.queue.mostPending, 'link')} waiting at most), its server ${shareText(result.queue.busy)} busy`,
  )
  line('store', storeText(result))
  if (result.cost !== null) line('cost', costText(result.cost))
  print()
  for (const text of wrap(`${style.bold('advice')}      ${adviceFor(profile, result)}`, Math.min(width, 160)))
    print(text)
}

function titleOf({ name, urls, hosts, workers, proxies }: Profile): string {
  const fleet = plural(workers, 'worker')
  const through = proxies === null ? '' : `, ${plural(proxies.count, 'proxy', 'proxies')}`
  return `${name}: ${plural(urls, 'URL')} on ${plural(hosts, 'host')}, ${fleet}${through}`
}

const ENDED_BY: Readonly<Record<NonNullable<SimulationResult['endedBy']>, string>> = {
  budget_bytes: 'by its budget of bytes',
  budget_time: 'by its budget of time',
  stalled: 'stalled: nothing can be fetched any more, because no proxy works',
}

function endText({ endMs, endedBy }: SimulationResult, ends: Ends): string {
  const range = ends === null || ends.p10 === ends.p90 ? '' : ` (${duration(ends.p10)} to ${duration(ends.p90)})`
  const why = endedBy === null ? '' : `, ${ENDED_BY[endedBy]}`
  return `${duration(endMs)}${range}${why}`
}

function pagesText({ pages: { done, dead, refused, neverFound } }: SimulationResult): string {
  return [
    `${count(done)} done`,
    plural(dead, 'dead letter'),
    ...(refused > 0 ? [`${count(refused)} refused by a budget or maxPending`] : []),
    ...(neverFound > 0 ? [`${count(neverFound)} never found`] : []),
  ].join(', ')
}

/** The pages per second over time. */
function courseText({ course: { stretches } }: SimulationResult, columns: number): string {
  const size = Math.max(1, Math.ceil(stretches.length / Math.max(1, columns)))
  const sums: number[] = []
  for (let at = 0; at < stretches.length; at += size)
    sums.push(stretches.slice(at, at + size).reduce((all, { ended }) => all + ended, 0))
  return sparkline(sums, columns)
}

function tailText({ doneAt, endMs, lastHosts }: SimulationResult): string {
  const hosts = lastHosts.slice(0, HOSTS_SHOWN).map(lastText).join(', ')
  return `95 % done after ${duration(doneAt.p95)}, the last 5 % take ${duration(Math.max(0, endMs - doneAt.p95))}; last: ${hosts}`
}

const BECAUSE: Readonly<Record<LastHost['because'], string>> = {
  crawl_delay: 'crawl delay',
  down: 'down',
  rate_limit: 'rate limited',
  pace: 'its pace',
  latency: 'slow responses',
}

function lastText({ host, urls, because }: LastHost): string {
  return `${host} (${plural(urls, 'URL')}, ${BECAUSE[because]})`
}

function workersText({ workers: { needed, mean, cpuBusy, slotsBusy } }: SimulationResult): string {
  return `${plural(needed, 'worker')} would do; ${Number.isInteger(mean) ? count(mean) : mean.toFixed(1)} used ${shareText(cpuBusy)} of their CPU and ${shareText(slotsBusy)} of their slots`
}

function requestsText({ requests, retries, throttled, banned, bytes: received }: SimulationResult): string {
  return [
    `${count(requests)} (${bytes(received)})`,
    plural(retries, 'retry', 'retries'),
    ...(throttled > 0 ? [`${count(throttled)} answered with 429`] : []),
    ...(banned > 0 ? [`${count(banned)} refused by sites because of the proxy`] : []),
  ].join(', ')
}

function storeText({ store }: SimulationResult): string {
  return store.rawBytes > 0
    ? `${bytes(store.bytes)} of records, ${bytes(store.rawBytes)} of raw pages`
    : bytes(store.bytes)
}

function costText(cost: NonNullable<SimulationResult['cost']>): string {
  const parts = (['workers', 'servers', 'storage', 'traffic', 'proxies'] as const).filter((part) => cost[part] > 0)
  return `${cost.total.toFixed(2)}: ${parts.map((part) => `${part} ${cost[part].toFixed(2)}`).join(', ')}`
}

function shareText(share: number): string {
  return share > 0 && share < 0.01 ? 'under 1 %' : `${Math.round(share * 100)} %`
}
