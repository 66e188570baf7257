import { useState } from 'preact/hooks'
import type { Done, ExitView, ProxiesView } from '../../../src/api/api-types.js'
import { path, post } from '../api.js'
import { count, duration, percent, plural } from '../format.js'
import { useLoad } from '../load.js'
import { ShareBar, type ShareBarProps } from '../parts/bar.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Dialog } from '../parts/dialog.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { StateBadge } from '../parts/state-badge.js'
import { type Column, Table } from '../parts/table.js'
import { Foreign } from '../parts/text.js'
import { replaceQuery } from '../router.js'
import { Facts } from './facts.js'
import { useLivePages } from './live-pages.js'
import { useQueueTime } from './queue-time.js'
import type { ViewProps } from './view.js'

const EVERY_MS = 3_000
const PAGE_EXITS = 100
type Pool = ProxiesView['pools'][number]

/** Pools with their health, and the exits of one of them. */
export function Proxies({ query }: ViewProps) {
  const { value, failure, reload } = useLoad<ProxiesView>(path('proxies'), {}, EVERY_MS)
  const pools = value?.pools ?? []
  const chosen = pools.find(({ pool }) => pool === query.pool) ?? pools[0]
  return (
    <>
      <h1>Proxies</h1>
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      {value === null ? (
        failure === null ? (
          <Loading />
        ) : null
      ) : chosen === undefined ? (
        <Empty title="No proxy was used yet">
          A spider names a pool, and workers bring it along:{' '}
          <code>shoal worker &lt;spider&gt; --proxies pools.json</code>
        </Empty>
      ) : (
        <>
          <ul class="pools">
            {pools.map((pool) => (
              <PoolCard key={pool.pool} pool={pool} here={pool.pool === chosen.pool} />
            ))}
          </ul>
          <Exits key={chosen.pool} pool={chosen.pool} />
        </>
      )}
    </>
  )
}

function PoolCard({
  pool: { pool, exits, resting, good, bad, more },
  here,
}: {
  readonly pool: Pool
  readonly here: boolean
}) {
  const allRest = exits > 0 && resting >= exits
  return (
    <li class={here ? 'pool here' : 'pool'}>
      <button type="button" aria-pressed={here} onClick={() => replaceQuery({ pool })}>
        <span class="pool-name">
          <Foreign text={pool} />
          {allRest ? (
            <StateBadge state="critical" text="all rest" />
          ) : resting > 0 ? (
            <StateBadge state="resting" text={`${count(resting)} rest`} />
          ) : (
            <StateBadge state="ok" text="well" />
          )}
        </span>
        <span class="muted">
          {more ? 'the first ' : ''}
          {plural(exits, 'exit')}, {plural(good + bad, 'request')}
        </span>
      </button>
      <ul class="shares">
        <ShareBar {...awake(exits, resting)} />
        <ShareBar {...success('Worked', good, bad)} />
      </ul>
    </li>
  )
}

function awake(exits: number, resting: number): ShareBarProps {
  const share = exits === 0 ? 0 : (exits - resting) / exits
  return {
    name: 'Ready',
    share,
    text: `${count(exits - resting)} of ${count(exits)}`,
    tone: share > 0.5 ? 'ok' : share > 0 ? 'warn' : 'bad',
  }
}

function success(name: string, good: number, bad: number): ShareBarProps {
  const asked = good + bad
  const share = asked === 0 ? 0 : good / asked
  return {
    name,
    share,
    text: asked === 0 ? 'not used' : percent(share),
    tone: share >= 0.9 ? 'ok' : share >= 0.5 ? 'warn' : 'bad',
  }
}

function Exits({ pool }: { readonly pool: string }) {
  const exits = useLivePages<ExitView>(path('proxies', pool), { limit: PAGE_EXITS }, ({ exit }) => exit, EVERY_MS)
  const now = useQueueTime()
  const [open, setOpen] = useState<string | null>(null)
  const opened = exits.items.find(({ exit }) => exit === open)
  return (
    <>
      <h2>
        Exits of <Foreign text={pool} clip={false} />
      </h2>
      {exits.failure === null ? null : <Failure failure={exits.failure} again={exits.reload} />}
      <Table
        label="Exits"
        columns={columns(pool, now, setOpen, exits.reload)}
        rows={exits.items}
        rowKey={({ exit }) => exit}
        more={exits.more}
        loading={exits.loading}
        onSight={exits.onSight}
        rowClass={(exit) => (rests(exit, now) ? 'resting' : '')}
      />
      {opened === undefined ? null : (
        <ExitDialog pool={pool} exit={opened} now={now} onChanged={exits.reload} onClose={() => setOpen(null)} />
      )}
    </>
  )
}

function rests({ restsUntil }: Pick<ExitView, 'restsUntil'>, now: number): boolean {
  return restsUntil !== null && restsUntil > now
}

function badOf({ banned, broken }: ExitView): number {
  return banned + broken
}

function columns(
  pool: string,
  now: number,
  open: (exit: string) => void,
  onChanged: () => void,
): readonly Column<ExitView>[] {
  return [
    {
      key: 'exit',
      head: 'Exit',
      width: 'minmax(0, 1.6fr)',
      cell: ({ exit }) => (
        <button type="button" class="as-link" aria-haspopup="dialog" onClick={() => open(exit)}>
          <Foreign text={exit} />
        </button>
      ),
    },
    {
      key: 'success',
      head: 'Worked',
      width: 'minmax(0, 1.2fr)',
      cell: (exit) => (
        <ul class="shares one">
          <ShareBar {...success('', exit.good, badOf(exit))} />
        </ul>
      ),
    },
    { key: 'banned', head: 'Banned', width: '5rem', align: 'end', cell: ({ banned }) => count(banned) },
    { key: 'broken', head: 'Broken', width: '5rem', align: 'end', cell: ({ broken }) => count(broken) },
    {
      key: 'p50',
      head: 'p50',
      width: '5rem',
      align: 'end',
      cell: ({ p50Ms }) => (p50Ms === null ? '–' : duration(p50Ms)),
    },
    {
      key: 'p90',
      head: 'p90',
      width: '5rem',
      align: 'end',
      cell: ({ p90Ms }) => (p90Ms === null ? '–' : duration(p90Ms)),
    },
    {
      key: 'hand',
      head: 'Under way',
      width: '5.6rem',
      align: 'end',
      cell: ({ inFlight }) => count(inFlight),
      from: 'medium',
    },
    { key: 'rest', head: 'Rests', width: 'minmax(0, 1fr)', cell: (exit) => <Rest exit={exit} now={now} /> },
    {
      key: 'wake',
      head: '',
      width: '4.6rem',
      cell: (exit) =>
        restsAnywhere(exit, now) ? (
          <Button small kind="quiet" label={`Wake ${exit.exit}`} onClick={() => askWake(pool, exit, onChanged)}>
            Wake
          </Button>
        ) : null,
    },
  ]
}

function restsAnywhere(exit: ExitView, now: number): boolean {
  return rests(exit, now) || exit.sites.some((site) => rests(site, now))
}

function Rest({ exit, now }: { readonly exit: ExitView; readonly now: number }) {
  if (exit.restsUntil !== null && exit.restsUntil > now) {
    return <StateBadge state="resting" text={duration(exit.restsUntil - now)} />
  }
  const sites = exit.sites.filter((site) => rests(site, now))
  return sites.length === 0 ? <span class="muted">–</span> : <span>{`on ${plural(sites.length, 'site')}`}</span>
}

interface ExitDialogProps {
  readonly pool: string
  readonly exit: ExitView
  readonly now: number
  readonly onChanged: () => void
  readonly onClose: () => void
}

function ExitDialog({ pool, exit, now, onChanged, onClose }: ExitDialogProps) {
  return (
    <Dialog title={exit.exit} onClose={onClose} wide>
      <Facts
        facts={[
          [
            'Requests',
            `${count(exit.good)} good, ${count(exit.neutral)} said nothing, ${count(exit.banned)} banned, ${count(exit.broken)} broken`,
          ],
          [
            'Answers in',
            exit.p50Ms === null
              ? 'not known'
              : `${duration(exit.p50Ms)} (median), ${duration(exit.p90Ms ?? exit.p50Ms)} (nine of ten)`,
          ],
          ['Rests', rests(exit, now) ? `for ${duration((exit.restsUntil ?? now) - now)}` : 'no'],
          ['Cost', exit.cost === 0 ? 'none' : exit.cost.toFixed(4)],
        ]}
      />
      <h3>By site, worst first</h3>
      {exit.sites.length === 0 ? <p class="muted">Not used on any site lately.</p> : null}
      <ul class="shares">
        {exit.sites.map(({ site, good, bad, restsUntil }) => (
          <ShareBar
            key={site}
            {...success(site, good, bad)}
            text={`${percent(good / Math.max(1, good + bad))} of ${count(good + bad)}${restsUntil !== null && restsUntil > now ? ` · rests ${duration(restsUntil - now)}` : ''}`}
          />
        ))}
      </ul>
      <div class="actions">
        {restsAnywhere(exit, now) ? <Button onClick={() => askWake(pool, exit, onChanged)}>Wake it</Button> : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

function askWake(pool: string, { exit }: ExitView, onChanged: () => void): void {
  confirm({
    title: `Wake ${exit}?`,
    says: (
      <p>Its rests end now, on every site and for all workers. If it is still refused, it rests again, for longer.</p>
    ),
    action: 'Wake it',
    async run() {
      await post<Done>(path('proxies', pool, exit, 'wake'))
      onChanged()
      return `${exit} is awake`
    },
  })
}
