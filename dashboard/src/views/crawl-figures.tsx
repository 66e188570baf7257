import type { CrawlView } from '../../../src/api/api-types.js'
import { bytes, count, duration, plural, shortCount } from '../format.js'
import { ShareBar, type ShareBarProps } from '../parts/bar.js'
import { crawlHref } from '../router.js'

interface Figure {
  readonly name: string
  readonly value: string
  /** What it counts, as a tooltip. */
  readonly means: string
  readonly href?: string
}

export function CrawlFigures({ view }: { readonly view: CrawlView }) {
  const { stats, now } = view
  const figures: readonly Figure[] = [
    { name: 'Done', value: shortCount(stats.done), means: 'Links fetched successfully' },
    { name: 'Failed', value: shortCount(stats.failed), means: 'Failed visits that counted as an attempt' },
    { name: 'Retried', value: shortCount(stats.retried), means: 'Failed visits that were retried' },
    {
      name: 'Throttled',
      value: shortCount(stats.throttled),
      means: 'Rate limited by the host; does not count as an attempt',
    },
    {
      name: 'Dead',
      value: shortCount(stats.dead),
      means: 'Failed for good after all attempts',
      href: crawlHref(stats.id, 'dead'),
    },
    { name: 'Reclaimed', value: shortCount(stats.reclaimed), means: 'Expired leases: a worker crashed or froze' },
    { name: 'Too late', value: shortCount(stats.stale), means: 'Results rejected because the lease was lost' },
    {
      name: 'Rejected',
      value: shortCount(stats.refused),
      means: 'Links over a budget, or over the limit of waiting links',
    },
    { name: 'Received', value: bytes(stats.bytes), means: 'Bytes of pages received' },
    {
      name: 'Running for',
      value: stats.startedAt === null ? '–' : duration((stats.finishedAt ?? now) - stats.startedAt),
      means: 'Since the first link was handed out',
    },
  ]
  return (
    <dl class="panel figures" aria-label="Figures">
      {figures.map(({ name, value, means, href }) => (
        <div key={name} title={means}>
          <dt>{name}</dt>
          <dd>{href === undefined ? value : <a href={href}>{value}</a>}</dd>
        </div>
      ))}
    </dl>
  )
}

export interface TallyProps {
  readonly title: string
  readonly counts: Readonly<Record<string, number>>
  readonly none: string
  readonly name: (key: string) => string
  readonly tone: (key: string) => NonNullable<ShareBarProps['tone']>
}

/** Rows shown, most frequent first. */
const TALLIED = 12

export function Tally({ title, counts, none, name, tone }: TallyProps) {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
  const most = rows[0]?.[1] ?? 0
  const left = rows.length - TALLIED
  return (
    <section class="panel">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <ul class="shares">
          {rows.slice(0, TALLIED).map(([key, value]) => (
            <ShareBar key={key} name={name(key)} share={value / most} text={count(value)} tone={tone(key)} />
          ))}
        </ul>
      )}
      {left > 0 ? <p class="muted small-text">and {plural(left, 'other')}</p> : null}
    </section>
  )
}

export function CrawlBudget({ view }: { readonly view: CrawlView }) {
  const { stats, budget, limits, now } = view
  const used: { name: string; share: number; text: string }[] = []
  if (budget?.pages != null) {
    used.push({
      name: 'Pages',
      share: stats.total / budget.pages,
      text: `${shortCount(stats.total)} of ${shortCount(budget.pages)}`,
    })
  }
  if (budget?.bytes != null) {
    used.push({
      name: 'Bytes',
      share: stats.bytes / budget.bytes,
      text: `${bytes(stats.bytes)} of ${bytes(budget.bytes)}`,
    })
  }
  if (budget?.ms != null) {
    const ms = stats.startedAt === null ? 0 : (stats.finishedAt ?? now) - stats.startedAt
    used.push({ name: 'Time', share: ms / budget.ms, text: `${duration(ms)} of ${duration(budget.ms)}` })
  }
  return (
    <section class="panel">
      <h2>Limits</h2>
      {used.length === 0 ? null : (
        <ul class="shares budget">
          {used.map((one) => (
            <ShareBar key={one.name} {...one} tone={one.share > 0.9 ? 'warn' : 'calm'} />
          ))}
        </ul>
      )}
      <ul class="muted small-text">
        {used.length === 0 ? <li>No budget: the crawl ends when no links are left.</li> : null}
        {budget?.pagesPerHost == null ? null : <li>At most {count(budget.pagesPerHost)} pages per host.</li>}
        {limits === null ? null : (
          <li>
            Per host: {plural(limits.concurrency, 'request')} at once, {duration(limits.delayMs)} crawl delay.
          </li>
        )}
      </ul>
    </section>
  )
}
