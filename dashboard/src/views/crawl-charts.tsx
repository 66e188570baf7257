import { useEffect, useMemo, useState } from 'preact/hooks'
import type { CrawlView, SeriesView } from '../../../src/api/api-types.js'
import type { Sample, Span } from '../../../src/observe/series/series.js'
import { path } from '../api.js'
import { bytes, duration, rate, shortCount } from '../format.js'
import { useLoad } from '../load.js'
import { Chart, type Line } from '../parts/chart.js'
import { Choice } from '../parts/tabs.js'
import { columnsOf, type Values, withLatest } from '../samples.js'
import { PartFailure } from './part-failure.js'

const SPAN_NAMES: readonly { readonly value: Span; readonly name: string }[] = [
  { value: '30m', name: '30 minutes' },
  { value: '24h', name: '24 hours' },
]

/** Reloads what was missed while the machine slept or the connection was lost. */
const AGAIN_MS = 60_000

interface ChartSpec {
  readonly title: string
  readonly format: (value: number) => string
  readonly stack?: boolean
  readonly lines: readonly (Omit<Line, 'values'> & { readonly of: (sample: Sample) => number | null })[]
}

const CHARTS: readonly ChartSpec[] = [
  {
    title: 'Pages and errors per second',
    format: rate,
    lines: [
      { name: 'pages', colour: '--state-leased', of: (sample) => sample.pagesPerSecond },
      { name: 'errors', colour: '--state-dead', dash: [5, 3], of: (sample) => sample.errorsPerSecond },
    ],
  },
  {
    title: 'Links by state',
    format: shortCount,
    stack: true,
    lines: [
      { name: 'done', colour: '--state-done', of: (sample) => sample.done },
      { name: 'skipped', colour: '--state-skipped', of: (sample) => sample.skipped },
      { name: 'dead', colour: '--state-dead', of: (sample) => sample.dead },
      { name: 'in flight', colour: '--state-leased', of: (sample) => sample.leased },
      { name: 'delayed', colour: '--state-delayed', of: (sample) => sample.delayed },
      { name: 'queued', colour: '--state-queued', of: (sample) => sample.queued },
    ],
  },
  {
    title: 'Response time',
    format: duration,
    lines: [
      { name: 'p50', colour: '--state-done', of: (sample) => sample.latencyMs?.p50 ?? null },
      { name: 'p90', colour: '--state-delayed', dash: [6, 3], of: (sample) => sample.latencyMs?.p90 ?? null },
      { name: 'p99', colour: '--state-dead', dash: [2, 3], of: (sample) => sample.latencyMs?.p99 ?? null },
    ],
  },
  {
    title: 'Bytes per second',
    format: bytes,
    lines: [{ name: 'bytes', colour: '--state-leased', of: (sample) => sample.bytesPerSecond }],
  },
]

/** The crawl over time; new samples are added as they arrive. */
export function CrawlCharts({ view }: { readonly view: CrawlView }) {
  const [span, setSpan] = useState<Span>('30m')
  const loaded = useLoad<SeriesView>(path('crawls', view.stats.id, 'series'), { span }, AGAIN_MS)
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const everyMs = loaded.value?.everyMs ?? 5_000
  useEffect(() => setSamples(loaded.value?.samples ?? []), [loaded.value])
  useEffect(() => setSamples((before) => withLatest(before, view.latest, everyMs, span)), [view.latest, everyMs, span])
  return (
    <section class="charts" aria-labelledby="charts">
      <div class="panel-head">
        <h2 id="charts">Over time</h2>
        <Choice label="Time range" options={SPAN_NAMES} value={span} onChange={setSpan} />
      </div>
      <PartFailure failure={loaded.failure} again={loaded.reload} />
      <div class="chart-grid">
        {CHARTS.map((spec) => (
          <CrawlChart key={spec.title} spec={spec} samples={samples} everyMs={everyMs} now={view.now} />
        ))}
      </div>
    </section>
  )
}

interface CrawlChartProps {
  readonly spec: ChartSpec
  readonly samples: readonly Sample[]
  readonly everyMs: number
  readonly now: number
}

function CrawlChart({ spec, samples, everyMs, now }: CrawlChartProps) {
  const { seconds, lines } = useMemo(() => {
    const columns = columnsOf(
      samples,
      everyMs,
      spec.lines.map((line) => line.of),
    )
    const [at, ...values] = columns
    return { seconds: at, lines: spec.lines.map((line, index) => ({ ...line, values: values[index] ?? NONE })) }
  }, [spec, samples, everyMs])
  return (
    <Chart
      title={spec.title}
      seconds={seconds}
      lines={lines}
      format={spec.format}
      stack={spec.stack ?? false}
      now={now}
    />
  )
}

const NONE: Values = []
