import { useState } from 'preact/hooks'
import type { Done, ProxiesView, ProxyView } from '../../../src/api/api-types.js'
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
const PAGE_PROXIES = 100
type Pool = ProxiesView['pools'][number]

/** Pools with their health, and the proxies of one of them. */
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
        <Empty title="No proxies used yet">
          A spider names a pool, and workers load it from a file:{' '}
          <code>shoal worker &lt;spider&gt; --proxies pools.json</code>
        </Empty>
      ) : (
        <>
          <ul class="pools">
            {pools.map((pool) => (
              <PoolCard key={pool.pool} pool={pool} here={pool.pool === chosen.pool} />
            ))}
          </ul>
          <PoolProxies key={chosen.pool} pool={chosen.pool} />
        </>
      )}
    </>
  )
}

function PoolCard({
  pool: { pool, proxies, resting, good, bad, more },
  here,
}: {
  readonly pool: Pool
  readonly here: boolean
}) {
  const allRest = proxies > 0 && resting >= proxies
  return (
    <li class={here ? 'pool here' : 'pool'}>
      <button type="button" aria-pressed={here} onClick={() => replaceQuery({ pool })}>
        <span class="pool-name">
          <Foreign text={pool} />
          {allRest ? (
            <StateBadge state="critical" text="all resting" />
          ) : resting > 0 ? (
            <StateBadge state="resting" text={`${count(resting)} resting`} />
          ) : (
            <StateBadge state="ok" text="ok" />
          )}
        </span>
        <span class="muted">
          {more ? 'the first ' : ''}
          {plural(proxies, 'proxy', 'proxies')}, {plural(good + bad, 'request')}
        </span>
      </button>
      <ul class="shares">
        <ShareBar {...awake(proxies, resting)} />
        <ShareBar {...success('Success', good, bad)} />
      </ul>
    </li>
  )
}

function awake(proxies: number, resting: number): ShareBarProps {
  const share = proxies === 0 ? 0 : (proxies - resting) / proxies
  return {
    name: 'Ready',
    share,
    text: `${count(proxies - resting)} of ${count(proxies)}`,
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

function PoolProxies({ pool }: { readonly pool: string }) {
  const proxies = useLivePages<ProxyView>(
    path('proxies', pool),
    { limit: PAGE_PROXIES },
    ({ proxy }) => proxy,
    EVERY_MS,
  )
  const now = useQueueTime()
  const [open, setOpen] = useState<string | null>(null)
  const opened = proxies.items.find(({ proxy }) => proxy === open)
  return (
    <>
      <h2>
        Proxies of <Foreign text={pool} clip={false} />
      </h2>
      {proxies.failure === null ? null : <Failure failure={proxies.failure} again={proxies.reload} />}
      <Table
        label="Proxies"
        columns={columns(pool, now, setOpen, proxies.reload)}
        rows={proxies.items}
        rowKey={({ proxy }) => proxy}
        more={proxies.more}
        loading={proxies.loading}
        onSight={proxies.onSight}
        rowClass={(proxy) => (rests(proxy, now) ? 'resting' : '')}
      />
      {opened === undefined ? null : (
        <ProxyDialog pool={pool} proxy={opened} now={now} onChanged={proxies.reload} onClose={() => setOpen(null)} />
      )}
    </>
  )
}

function rests({ restsUntil }: Pick<ProxyView, 'restsUntil'>, now: number): boolean {
  return restsUntil !== null && restsUntil > now
}

function badOf({ banned, broken }: ProxyView): number {
  return banned + broken
}

function columns(
  pool: string,
  now: number,
  open: (proxy: string) => void,
  onChanged: () => void,
): readonly Column<ProxyView>[] {
  return [
    {
      key: 'proxy',
      head: 'Proxy',
      width: 'minmax(0, 1.6fr)',
      cell: ({ proxy }) => (
        <button type="button" class="as-link" aria-haspopup="dialog" onClick={() => open(proxy)}>
          <Foreign text={proxy} />
        </button>
      ),
    },
    {
      key: 'success',
      head: 'Success',
      width: 'minmax(0, 1.2fr)',
      cell: (proxy) => (
        <ul class="shares one">
          <ShareBar {...success('', proxy.good, badOf(proxy))} />
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
      head: 'In flight',
      width: '5.6rem',
      align: 'end',
      cell: ({ inFlight }) => count(inFlight),
      from: 'medium',
    },
    { key: 'rest', head: 'Resting', width: 'minmax(0, 1fr)', cell: (proxy) => <Rest proxy={proxy} now={now} /> },
    {
      key: 'wake',
      head: '',
      width: '4.6rem',
      cell: (proxy) =>
        restsAnywhere(proxy, now) ? (
          <Button small kind="quiet" label={`Wake ${proxy.proxy}`} onClick={() => askWake(pool, proxy, onChanged)}>
            Wake
          </Button>
        ) : null,
    },
  ]
}

function restsAnywhere(proxy: ProxyView, now: number): boolean {
  return rests(proxy, now) || proxy.sites.some((site) => rests(site, now))
}

function Rest({ proxy, now }: { readonly proxy: ProxyView; readonly now: number }) {
  if (proxy.restsUntil !== null && proxy.restsUntil > now) {
    return <StateBadge state="resting" text={duration(proxy.restsUntil - now)} />
  }
  const sites = proxy.sites.filter((site) => rests(site, now))
  return sites.length === 0 ? <span class="muted">–</span> : <span>{`on ${plural(sites.length, 'site')}`}</span>
}

interface ProxyDialogProps {
  readonly pool: string
  readonly proxy: ProxyView
  readonly now: number
  readonly onChanged: () => void
  readonly onClose: () => void
}

function ProxyDialog({ pool, proxy, now, onChanged, onClose }: ProxyDialogProps) {
  return (
    <Dialog title={proxy.proxy} onClose={onClose} wide>
      <Facts
        facts={[
          [
            'Requests',
            `${count(proxy.good)} good, ${count(proxy.neutral)} neutral, ${count(proxy.banned)} banned, ${count(proxy.broken)} broken`,
          ],
          [
            'Latency',
            proxy.p50Ms === null
              ? 'not known'
              : `${duration(proxy.p50Ms)} (p50), ${duration(proxy.p90Ms ?? proxy.p50Ms)} (p90)`,
          ],
          ['Resting', rests(proxy, now) ? `for ${duration((proxy.restsUntil ?? now) - now)}` : 'no'],
          ['Cost', proxy.cost === 0 ? 'none' : proxy.cost.toFixed(4)],
        ]}
      />
      <h3>By site, worst first</h3>
      {proxy.sites.length === 0 ? <p class="muted">Not used on any site recently.</p> : null}
      <ul class="shares">
        {proxy.sites.map(({ site, good, bad, restsUntil }) => (
          <ShareBar
            key={site}
            {...success(site, good, bad)}
            text={`${percent(good / Math.max(1, good + bad))} of ${count(good + bad)}${restsUntil !== null && restsUntil > now ? ` · resting for ${duration(restsUntil - now)}` : ''}`}
          />
        ))}
      </ul>
      <div class="actions">
        {restsAnywhere(proxy, now) ? <Button onClick={() => askWake(pool, proxy, onChanged)}>Wake it</Button> : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

function askWake(pool: string, { proxy }: ProxyView, onChanged: () => void): void {
  confirm({
    title: `Wake ${proxy}?`,
    says: (
      <p>
        It stops resting now, on every site and for all workers. If it is still blocked, it rests again, for longer.
      </p>
    ),
    action: 'Wake it',
    async run() {
      await post<Done>(path('proxies', pool, proxy, 'wake'))
      onChanged()
      return `${proxy} is awake`
    },
  })
}
