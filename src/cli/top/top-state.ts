import type { CrawlState, HostInfo } from '../../frontier/frontier.js'
import { workerRate } from '../../observe/snapshots/health.js'
import type { WorkerSnapshot } from '../../observe/snapshots/snapshot.js'
import type { TopCrawl, TopSnapshot } from './top-snapshot.js'

/** What the user has selected so far. */
export interface TopState {
  readonly pane: Pane
  /** Name of the selected row; null: the first. */
  readonly chosen: Readonly<Record<Pane, string | null>>
  readonly sort: Readonly<Record<Pane, number>>
  readonly filter: Readonly<Record<Pane, string>>
  /** Letters are typed into the filter. */
  readonly typing: boolean
  /** One crawl fills the screen. */
  readonly alone: boolean
  readonly help: boolean
  /** A question that is waiting for y or n. */
  readonly asking: Order | null
  /** The result of the last order. */
  readonly notice: string
}

export const PANES = ['crawls', 'hosts', 'workers'] as const
export type Pane = (typeof PANES)[number]

/** What a key asks for outside the screen. */
export type Order =
  | { readonly kind: 'quit' }
  | { readonly kind: 'set'; readonly crawl: string; readonly spider: string; readonly state: 'paused' | 'running' }

export const FIRST_STATE: TopState = {
  pane: 'crawls',
  chosen: { crawls: null, hosts: null, workers: null },
  sort: { crawls: 0, hosts: 0, workers: 0 },
  filter: { crawls: '', hosts: '', workers: '' },
  ...{ typing: false, alone: false, help: false, asking: null, notice: '' },
}

interface Sort<Row> {
  readonly name: string
  readonly by: (a: Row, b: Row) => number
}

const most =
  <Row>(of: (row: Row) => number) =>
  (a: Row, b: Row) =>
    of(b) - of(a)

export const SORTS = (now: number) =>
  ({
    crawls: [
      { name: 'age', by: () => 0 },
      { name: 'rate', by: most<TopCrawl>(({ stats }) => stats.rate) },
      { name: 'left', by: most<TopCrawl>(({ stats }) => stats.queued + stats.delayed + stats.leased) },
      { name: 'failed', by: most<TopCrawl>(({ stats }) => stats.failed) },
    ],
    hosts: [
      { name: 'pending', by: most<HostInfo>((host) => host.pending) },
      { name: 'in flight', by: most<HostInfo>((host) => host.inFlight) },
      { name: 'failed', by: most<HostInfo>((host) => host.failed) },
      { name: 'latency', by: most<HostInfo>((host) => host.latencyMs ?? -1) },
      { name: 'name', by: (a: HostInfo, b: HostInfo) => (a.host < b.host ? -1 : 1) },
    ],
    workers: [
      { name: 'name', by: (a: WorkerSnapshot, b: WorkerSnapshot) => (a.worker < b.worker ? -1 : 1) },
      { name: 'rate', by: most<WorkerSnapshot>((worker) => workerRate(worker, now)) },
      { name: 'memory', by: most<WorkerSnapshot>(({ vitals }) => vitals?.rssBytes ?? -1) },
      { name: 'CPU', by: most<WorkerSnapshot>(({ vitals }) => vitals?.loopBusy ?? -1) },
      { name: 'failed', by: most<WorkerSnapshot>((worker) => worker.failed) },
    ],
  }) satisfies {
    readonly crawls: readonly Sort<TopCrawl>[]
    readonly hosts: readonly Sort<HostInfo>[]
    readonly workers: readonly Sort<WorkerSnapshot>[]
  }

/** The rows of each pane as shown: filtered and sorted. */
export interface Rows {
  readonly crawls: readonly TopCrawl[]
  readonly hosts: readonly HostInfo[]
  readonly workers: readonly WorkerSnapshot[]
}

export function rowsOf(state: TopState, snapshot: TopSnapshot): Rows {
  const { filter, sort } = state
  const sorts = SORTS(snapshot.now)
  const crawls = snapshot.crawls.filter(({ stats }) => fits(filter.crawls, stats.spider, stats.id))
  const hosts = (chosenCrawl(state, snapshot)?.snapshot?.hosts ?? []).filter(
    (host) => host.pending + host.inFlight + host.done > 0 && fits(filter.hosts, host.host),
  )
  const workers = snapshot.workers.filter(({ worker, about }) => fits(filter.workers, worker, about?.machine ?? ''))
  return {
    crawls: sorted(crawls, sorts.crawls, sort.crawls),
    hosts: sorted(hosts, sorts.hosts, sort.hosts),
    workers: sorted(workers, sorts.workers, sort.workers),
  }
}

function sorted<Row>(rows: readonly Row[], sorts: readonly Sort<Row>[], index: number): readonly Row[] {
  const sort = sorts[index % sorts.length]
  return sort === undefined ? rows : rows.toSorted(sort.by)
}

function fits(filter: string, ...texts: readonly string[]): boolean {
  return filter === '' || texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()))
}

/** The crawl whose hosts and advice are shown. */
export function chosenCrawl({ chosen, filter, sort }: TopState, snapshot: TopSnapshot): TopCrawl | null {
  const named = snapshot.crawls.find(({ stats }) => stats.id === chosen.crawls)
  if (named !== undefined) return named
  const crawls = snapshot.crawls.filter(({ stats }) => fits(filter.crawls, stats.spider, stats.id))
  return sorted(crawls, SORTS(snapshot.now).crawls, sort.crawls)[0] ?? null
}

function namesOf(rows: Rows, pane: Pane): readonly string[] {
  if (pane === 'crawls') return rows.crawls.map(({ stats }) => stats.id)
  return pane === 'hosts' ? rows.hosts.map(({ host }) => host) : rows.workers.map(({ worker }) => worker)
}

/** Index of the selected row among the current rows. */
export function chosenIndex({ chosen }: TopState, rows: Rows, pane: Pane): number {
  return Math.max(0, namesOf(rows, pane).indexOf(chosen[pane] ?? ''))
}

/** A key press: a letter, or one of the named keys. */
export interface Key {
  readonly letter: string
  readonly named:
    | 'up'
    | 'down'
    | 'pageUp'
    | 'pageDown'
    | 'home'
    | 'end'
    | 'tab'
    | 'backTab'
    | 'enter'
    | 'escape'
    | 'rub'
    | null
}

const PAGE = 10

export function press(
  state: TopState,
  key: Key,
  snapshot: TopSnapshot | null,
): { state: TopState; order: Order | null } {
  const only = (next: Partial<TopState>) => ({ state: { ...state, notice: '', ...next }, order: null })
  if (state.asking !== null) {
    const yes = key.letter === 'y' || key.letter === 'Y'
    return { state: { ...state, asking: null }, order: yes ? state.asking : null }
  }
  if (state.typing) return only(typed(state, key))
  if (key.letter === 'q') return { state, order: { kind: 'quit' } }
  if (state.help) return only({ help: false })
  if (key.letter === '?') return only({ help: true })
  if (snapshot === null) return only({})
  const rows = rowsOf(state, snapshot)
  const steps = stepsOf(key)
  if (steps !== 0) return only({ chosen: { ...state.chosen, [state.pane]: moved(state, rows, steps) } })
  if (key.named === 'tab') return only({ pane: nextPane(state, 1) })
  if (key.named === 'backTab') return only({ pane: nextPane(state, -1) })
  if (key.named === 'enter') return only(alone(state, snapshot))
  if (key.named === 'escape')
    return only(state.filter[state.pane] === '' ? BACK : { filter: { ...state.filter, [state.pane]: '' } })
  if (key.letter === 's')
    return only({
      sort: { ...state.sort, [state.pane]: (state.sort[state.pane] + 1) % SORTS(snapshot.now)[state.pane].length },
    })
  if (key.letter === '/') return only({ typing: true })
  if (key.letter === 'p') return only(asked(chosenCrawl(state, snapshot)))
  return only({})
}

const BACK = { alone: false, pane: 'crawls' } as const

/** Pins the selected crawl: its row may move while new crawls come in. */
function alone(state: TopState, snapshot: TopSnapshot): Partial<TopState> {
  if (state.alone) return BACK
  const crawl = chosenCrawl(state, snapshot)?.stats.id ?? null
  return crawl === null ? {} : { alone: true, pane: 'hosts', chosen: { ...state.chosen, crawls: crawl, hosts: null } }
}

function typed(state: TopState, { letter, named }: Key): Partial<TopState> {
  const { pane, filter } = state
  const text = filter[pane]
  if (named === 'enter') return { typing: false }
  if (named === 'escape') return { typing: false, filter: { ...filter, [pane]: '' } }
  return { filter: { ...filter, [pane]: named === 'rub' ? text.slice(0, -1) : text + letter } }
}

function stepsOf({ letter, named }: Key): number {
  if (named === 'up' || letter === 'k') return -1
  if (named === 'down' || letter === 'j') return 1
  if (named === 'pageUp') return -PAGE
  if (named === 'pageDown') return PAGE
  if (named === 'home' || letter === 'g') return Number.NEGATIVE_INFINITY
  return named === 'end' || letter === 'G' ? Number.POSITIVE_INFINITY : 0
}

function moved(state: TopState, rows: Rows, steps: number): string | null {
  const names = namesOf(rows, state.pane)
  const at = chosenIndex(state, rows, state.pane) + steps
  return names[Math.max(0, Math.min(names.length - 1, at))] ?? null
}

function nextPane({ pane, alone }: TopState, step: number): Pane {
  const panes: readonly Pane[] = alone ? ['hosts', 'workers'] : PANES
  const at = panes.indexOf(pane)
  return panes[(Math.max(at, 0) + step + panes.length) % panes.length] ?? 'crawls'
}

function asked(crawl: TopCrawl | null): Partial<TopState> {
  if (crawl === null) return { notice: 'no crawl to pause' }
  const { id, spider, state } = crawl.stats
  const to: Partial<Record<CrawlState, 'paused' | 'running'>> = { running: 'paused', paused: 'running' }
  const wanted = to[state]
  if (wanted === undefined) return { notice: `the crawl is ${state}` }
  return { asking: { kind: 'set', crawl: id, spider, state: wanted } }
}
