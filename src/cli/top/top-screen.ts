import type { ShoalError } from '../../errors.js'
import type { HostInfo } from '../../frontier/frontier.js'
import { isListed, workerRate } from '../../observe/snapshots/health.js'
import type { WorkerSnapshot } from '../../observe/snapshots/snapshot.js'
import { paceText, slotText } from '../commands/status.js'
import { ceilingText, stateText } from '../commands/workers.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, duration, percent, plural, progressBar, rate, sparkline, timeOfDay } from '../terminal/format.js'
import { cutColoured } from '../terminal/live.js'
import type { Style } from '../terminal/style.js'
import { type Column, figure, shrinking, table } from '../terminal/table.js'
import { padEnd, widthOf, wrap } from '../terminal/width.js'
import { adviceLines, ended, endText } from '../views/progress-view.js'
import type { TopCrawl, TopSnapshot } from './top-snapshot.js'
import { chosenCrawl, chosenIndex, PANES, type Pane, type Rows, rowsOf, SORTS, type TopState } from './top-state.js'

export interface Screen {
  readonly columns: number
  readonly rows: number
  /** Address of the queue, without secrets. */
  readonly where: string
  readonly style: Style
}

/** The newest snapshot, and the error if it could not be refreshed. */
export interface Seen {
  readonly snapshot: TopSnapshot | null
  readonly failure: ShoalError | null
}

/** One line less than the screen has: a line in the last row would make the terminal scroll. */
export function screenOf(state: TopState, { snapshot, failure }: Seen, screen: Screen): string[] {
  const { columns, style } = screen
  const height = Math.max(1, screen.rows - 1)
  const top = [
    headLine(snapshot, screen),
    ...(failure === null
      ? []
      : [style.red(`${failure.code}: ${clean(failure.message)}. Retrying; the data shown is old.`)]),
  ]
  const bottom = footLine(state, style)
  const room = height - top.length - 1
  const body =
    snapshot === null ? ['', '  loading…'] : state.help ? helpLines(style) : bodyLines(state, snapshot, room, screen)
  const lines = [...top, ...Array.from({ length: Math.max(0, room) }, (_, at) => body[at] ?? '')]
  return [...lines, bottom].slice(-height).map((line) => cutColoured(line, columns))
}

function headLine(snapshot: TopSnapshot | null, { where, columns, style }: Screen): string {
  const left = `${style.bold('shoal top')}  ${style.dim(clean(where))}`
  if (snapshot === null) return left
  const alive = snapshot.workers.filter(({ state }) => state !== 'missing')
  const missing = snapshot.workers.filter((one) => one.state === 'missing' && isListed(one, snapshot.now)).length
  const slots = alive.reduce((all, { vitals }) => all + (vitals?.slots ?? 0), 0)
  const busy = alive.reduce((all, { vitals }) => all + (vitals?.busy ?? 0), 0)
  const right = [
    plural(alive.length, 'worker'),
    ...(missing > 0 ? [style.red(`${count(missing)} missing`)] : []),
    ...(slots > 0 ? [`${count(busy)} of ${plural(slots, 'slot')} busy`] : []),
    timeOfDay(snapshot.now),
  ].join(style.dim(' · '))
  const gap = columns - widthOf(left) - widthOf(right)
  return gap < 2 ? `${style.bold('shoal top')}  ${right}` : `${left}${' '.repeat(gap)}${right}`
}

const KEYS = 'tab pane · ↑↓ move · s sort · / filter · enter crawl · p pause · ? help · q quit'

function footLine({ asking, typing, filter, pane, alone, notice }: TopState, style: Style): string {
  if (asking?.kind === 'set') {
    const verb = asking.state === 'paused' ? 'Pause' : 'Resume'
    return style.yellow(`${verb} crawl ${clean(asking.crawl)} of ${clean(asking.spider)}? y / n`)
  }
  if (typing) return `filter ${pane}: ${clean(filter[pane])}▏ ${style.dim('enter applies it, esc clears it')}`
  if (notice !== '') return style.yellow(clean(notice))
  return style.dim(alone ? KEYS.replace('enter crawl', 'esc back') : KEYS)
}

function helpLines(style: Style): string[] {
  const keys = [
    ['↑ ↓, k j', 'move; page up and down, g and G for first and last'],
    ['tab', 'next pane: crawls, hosts, workers; shift-tab for the previous one'],
    ['s', 'sort the pane by its next column'],
    ['/', 'filter rows by text; esc shows all again'],
    ['enter', 'show one crawl; esc goes back'],
    ['p', 'pause or resume the crawl; asks for confirmation'],
    ['q, Ctrl-C', 'quit; crawls keep running'],
  ] as const
  return [
    '',
    ...keys.map(([key, does]) => `  ${style.bold(padEnd(key, 11))} ${does}`),
    '',
    style.dim('  Press any key to go back.'),
  ]
}

function bodyLines(state: TopState, snapshot: TopSnapshot, room: number, screen: Screen): string[] {
  const { style, columns } = screen
  const rows = rowsOf(state, snapshot)
  const crawl = chosenCrawl(state, snapshot)
  const alerts = alertLines(snapshot, style)
  const about =
    crawl === null
      ? ['', '  no crawls yet; start one with: shoal run <spider>']
      : aboutLines(crawl, state.alone, screen)
  const panes = PANES.filter((pane) => !(state.alone && pane === 'crawls'))
  const fixed = alerts.length + about.length + panes.length * 2
  const heights = share(
    panes.map((pane) => ({ wants: rowCount(rows, pane), favoured: pane === state.pane })),
    room - fixed,
  )
  const rendered = panes.map((pane, at) =>
    paneLines(pane, heights[at] ?? 1, { state, rows, snapshot, crawl, columns, style }),
  )
  const crawls = state.alone ? [] : (rendered[0] ?? [])
  return [...alerts, ...crawls, ...about, ...(state.alone ? rendered : rendered.slice(1)).flat()]
}

function alertLines({ alerts }: TopSnapshot, style: Style): string[] {
  const [first] = alerts.toSorted((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical'))
  if (first === undefined) return []
  const paint = first.severity === 'critical' ? style.red : style.yellow
  const more = alerts.length > 1 ? style.dim(`  and ${count(alerts.length - 1)} more: shoal alerts`) : ''
  return [`${paint(`▲ ${clean(first.message)}`)}${more}`]
}

/** Divides the rows among the panes: each gets what it wants if there is room; otherwise the favoured one gets up to half, the others equal parts of the rest. */
export function share(
  panes: readonly { readonly wants: number; readonly favoured: boolean }[],
  room: number,
): readonly number[] {
  const heights = panes.map(() => 1)
  let left = Math.max(0, room - panes.length)
  const favoured = panes.findIndex((pane) => pane.favoured)
  const give = (at: number, most: number) => {
    const given = Math.max(0, Math.min((panes[at]?.wants ?? 0) - (heights[at] ?? 0), most, left))
    heights[at] = (heights[at] ?? 0) + given
    left -= given
    return given
  }
  if (favoured >= 0) give(favoured, Math.ceil(left / 2))
  for (let given = 1; left > 0 && given > 0; ) {
    given = 0
    for (const at of panes.keys()) given += give(at, 1)
  }
  return heights
}

function rowCount(rows: Rows, pane: Pane): number {
  return Math.max(1, rows[pane].length)
}

/** The chosen crawl: when it will end, and its bottleneck. */
function aboutLines(
  { stats, snapshot, advice, rates }: TopCrawl,
  alone: boolean,
  { columns, style }: Screen,
): string[] {
  const over = ended(stats)
  const end = snapshot === null ? stats.state : endText(snapshot.estimate, stats.state)
  const slowest =
    advice === null || stats.state !== 'running'
      ? []
      : adviceLines(advice, style).flatMap((line) => wrap(line, columns))
  const stalled =
    snapshot !== null && snapshot.stalledMs > 0
      ? [`${style.red('unhealthy:')} no link was leased or settled for ${duration(snapshot.stalledMs)}`]
      : []
  if (!alone) return ['', `${style.bold(clean(stats.spider))}  ${end}`, ...stalled, ...slowest]
  const figures = [
    `${count(stats.queued)} queued`,
    `${count(stats.delayed)} delayed`,
    `${count(stats.leased)} in flight`,
    `${count(stats.done)} done`,
    `${count(stats.skipped)} skipped`,
    (stats.dead > 0 ? style.red : style.dim)(`${count(stats.dead)} dead`),
  ]
  const pace = [
    rate(stats.rate),
    (stats.failed > 0 ? style.yellow : style.dim)(`${count(stats.failed)} failed`),
    `${bytes(stats.bytes)} read`,
  ]
  const bar = Math.max(10, Math.min(60, columns - 30))
  return [
    '',
    `${style.bold(clean(stats.spider))}  crawl ${clean(stats.id)}  ${crawlState(stats.state, style)}`,
    `${progressBar(over, stats.total, style, bar)}  ${count(over)} / ${count(stats.total)}  ${percent(over, stats.total)}`,
    end,
    figures.join(style.dim(' · ')),
    `${style.cyan(sparkline(rates, Math.max(10, columns - 40)))} ${pace.join(style.dim(' · '))}`,
    ...stalled,
    ...slowest,
  ]
}

interface PaneParts {
  readonly state: TopState
  readonly rows: Rows
  readonly snapshot: TopSnapshot
  readonly crawl: TopCrawl | null
  readonly columns: number
  readonly style: Style
}

/** A title, the column names, and the rows around the cursor. */
function paneLines(pane: Pane, height: number, parts: PaneParts): string[] {
  const { state, rows, snapshot, crawl, columns, style } = parts
  const { columns: titles, cells } = PANE_TABLES[pane](parts)
  const lines = table(titles, cells, columns - 2, (text) => text)
  const at = chosenIndex(state, rows, pane)
  const total = cells.length
  const from = Math.max(0, Math.min(at - Math.floor(height / 2), total - height))
  const focused = state.pane === pane
  const shown = lines.slice(1).slice(from, from + height)
  const sort = SORTS(snapshot.now)[pane][state.sort[pane]]?.name ?? ''
  const remarks = [
    ...(total > height ? [`${from + 1} to ${Math.min(total, from + height)} of ${count(total)}`] : []),
    ...(state.sort[pane] === 0 ? [] : [`by ${sort}`]),
    ...(state.filter[pane] === '' ? [] : [`with '${clean(state.filter[pane])}'`]),
  ].join(', ')
  const of = pane === 'hosts' && crawl !== null && !state.alone ? `hosts of ${clean(crawl.stats.spider)}` : pane
  const paint = focused ? style.cyan : style.dim
  const rule = '─'.repeat(Math.max(0, columns - widthOf(of) - widthOf(remarks) - 5))
  const title = paint(`─ ${of} ${rule} ${remarks}`.trimEnd())
  if (total === 0) return [title, style.dim(`  ${EMPTY[pane]}`), '']
  return [
    title,
    style.dim(`  ${lines[0] ?? ''}`),
    ...shown.map((line, index) =>
      index + from === at && focused ? style.inverse(padEnd(`› ${line}`, columns)) : `  ${line}`,
    ),
  ]
}

const EMPTY = { crawls: 'none', hosts: 'none with links', workers: 'none' } as const

interface PaneTable {
  readonly columns: readonly Column[]
  readonly cells: readonly (readonly string[])[]
}

const PANE_TABLES: Readonly<Record<Pane, (parts: PaneParts) => PaneTable>> = {
  crawls: ({ rows, style }) => ({
    columns: [
      shrinking('spider'),
      'state',
      { title: 'progress', yields: 2 },
      figure('%'),
      figure('done'),
      figure('left'),
      figure('rate'),
      { title: 'recent', yields: 1 },
      figure('failed'),
      figure('dead', 3),
      figure('ends in'),
      { title: 'crawl', yields: 4 },
    ],
    cells: rows.crawls.map((crawl) => crawlCells(crawl, style)),
  }),
  hosts: ({ rows, snapshot }) => ({
    columns: [
      shrinking('host'),
      figure('pending'),
      figure('in flight'),
      figure('done'),
      figure('failed'),
      figure('latency', 2),
      { title: 'pace', yields: 3 },
      { title: 'next slot', yields: 1 },
    ],
    cells: rows.hosts.map((host) => hostCells(host, snapshot.now)),
  }),
  workers: ({ rows, snapshot, style }) => ({
    columns: [
      shrinking('worker'),
      { title: 'machine', yields: 3 },
      'state',
      figure('busy'),
      { title: 'at most', yields: 4 },
      figure('done'),
      figure('failed'),
      figure('rate'),
      figure('memory'),
      figure('CPU'),
      figure('loop lag', 1),
      figure('seen', 2),
    ],
    cells: rows.workers.map((worker) => workerCells(worker, snapshot.now, style)),
  }),
}

const CRAWL_BAR = 12
const SPARK = 16

function crawlCells({ stats, snapshot, rates }: TopCrawl, style: Style): string[] {
  const over = ended(stats)
  const eta = snapshot?.estimate.etaSeconds ?? null
  return [
    clean(stats.spider),
    crawlState(stats.state, style),
    progressBar(over, stats.total, style, CRAWL_BAR),
    percent(over, stats.total),
    count(stats.done),
    count(stats.queued + stats.delayed + stats.leased),
    stats.state === 'running' ? rate(stats.rate) : '',
    stats.state === 'running' ? padEnd(sparkline(rates, SPARK), SPARK) : '',
    stats.failed > 0 ? style.yellow(count(stats.failed)) : '0',
    stats.dead > 0 ? style.red(count(stats.dead)) : '0',
    stats.state !== 'running' ? '' : eta === null ? '?' : duration(eta * 1000),
    clean(stats.id),
  ]
}

function crawlState(state: TopCrawl['stats']['state'], style: Style): string {
  return state === 'running' || state === 'finished' ? style.green(state) : style.yellow(state)
}

function hostCells(host: HostInfo, now: number): string[] {
  return [
    clean(host.host),
    count(host.pending),
    count(host.inFlight),
    count(host.done),
    count(host.failed),
    host.latencyMs === null ? '' : duration(host.latencyMs),
    paceText(host),
    slotText(host, now),
  ]
}

function workerCells(worker: WorkerSnapshot, now: number, style: Style): string[] {
  const { vitals, about, state, reportedMs } = worker
  return [
    clean(worker.worker),
    clean(about?.machine ?? ''),
    stateText(state, style),
    vitals === null ? '' : `${count(vitals.busy)}/${count(vitals.slots)}`,
    vitals === null ? '' : ceilingText(vitals),
    count(worker.done),
    count(worker.failed),
    rate(workerRate(worker, now)),
    vitals === null ? '' : bytes(vitals.rssBytes),
    vitals === null ? '' : percent(vitals.loopBusy, 1),
    vitals === null ? '' : duration(vitals.loopLagMs),
    `${duration(reportedMs ?? now - worker.seenAt)} ago`,
  ]
}
