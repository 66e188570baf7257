import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis } from '../support/redis-server.js'
import { type ApiClient, ApiError, pathOf } from './api-client.js'
import { startControlPlane } from './control-plane.js'
import { copyWithSecrets, OVERLAYS } from './copied-manifests.js'
import { judge } from './judge.js'
import { createKubelet, type Kubelet, shoal } from './kubelet.js'
import { kustomize, type Manifest } from './kustomize.js'
import { type MetricsAdapter, startMetricsAdapter } from './metrics-adapter.js'
import { createNetwork, HOST_ADDRESS, removeNetwork } from './network.js'
import { forServer120, isForeign } from './older-apis.js'
import { plot, type Sample } from './plot.js'
import { DELAY_MS, type Site, spiderFor, startSite } from './site.js'

/**
 * `npm run kubernetes`: the committed manifests on a real API server; a real HorizontalPodAutoscaler drives real worker processes. About 7 minutes, and 8 more
 * the first time, for the build of the control plane. Exit code 0: everything holds. 1: something does not. 4: this machine cannot run it.
 */
const HOSTS = 40
const SLOTS = 10
/** Instead of 20: two cores carry no more processes. On a busy machine CPU becomes the limit, and more workers would seem useful than it can run. */
const MOST_WORKERS = 8
const REDIS_PORT = 6379
const POSTGRES_PORT = 5432
const TOKEN = '0123456789abcdef'
const PLOT = fileURLToPath(new URL('../../docs/img/kubernetes-autoscaling.svg', import.meta.url))

const closers: (() => unknown)[] = []
const startedAt = Date.now()
const seconds = () => Math.round((Date.now() - startedAt) / 1_000)
const say = (text: string) => console.log(`${String(seconds()).padStart(4)} s  ${text}`)

// Not `once`: npm hands on the SIGINT that the terminal has already sent, and the second one would end the process in the middle of its cleanup.
process.on('SIGINT', () => void end(130))
process.on('SIGTERM', () => void end(143))

let isEnding = false

async function end(code: number): Promise<void> {
  if (isEnding) return
  isEnding = true
  for (const close of closers.reverse()) await Promise.resolve(close()).catch((error) => console.error(String(error)))
  process.exit(code)
}

function refuseWithout(): void {
  const refuse = (text: string) => {
    console.error(text)
    process.exit(4)
  }
  if (process.getuid?.() !== 0) refuse('This creates network namespaces. Run it as root: sudo npm run kubernetes')
  for (const [program, where] of [
    ['ip', 'iproute2'],
    ['openssl', 'openssl'],
    ['unshare', 'util-linux'],
    ['redis-server', 'redis-server'],
  ] as const)
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
      refuse(`This needs ${program}: apt-get install ${where}`)
}

/** Listens where pods can reach it; the servers of the tests listen on loopback. */
async function forward(port: number, to: number): Promise<void> {
  const server = createServer((client) => {
    const target = connect(to, '127.0.0.1')
    client.on('error', () => target.destroy())
    target.on('error', () => client.destroy())
    client.pipe(target).pipe(client)
  })
  closers.push(() => server.close())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST_ADDRESS, resolve)
  })
}

/** The overlay of this run: the committed base with the autoscaler and a spider from a file. */
function runOverlay(folder: string, site: Site): Manifest[] {
  const overlay = join(folder, 'overlays', 'run')
  mkdirSync(overlay)
  writeFileSync(join(overlay, 'spider.ts'), spiderFor(site))
  const zero = {
    ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
    metadata: { name: 'shoal-worker' },
  }
  writeFileSync(
    join(overlay, 'from-zero.yaml'),
    JSON.stringify({ ...zero, spec: { minReplicas: 0, maxReplicas: MOST_WORKERS } }),
  )
  const kustomization = {
    namespace: 'shoal',
    resources: ['../try/namespace.yaml', '../../base'],
    components: ['../../components/hpa', '../../components/spider-configmap'],
    configMapGenerator: [
      { name: 'shoal-spider', files: ['spider.ts'] },
      { name: 'shoal-settings', behavior: 'merge', literals: [`SHOAL_CONCURRENCY=${SLOTS}`] },
    ],
    secretGenerator: [
      { name: 'shoal-secrets', files: ['queue', 'store', 'token'].map((name) => `../try/secrets/${name}`) },
    ],
    patches: [{ path: 'from-zero.yaml' }],
  }
  writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization))
  return kustomize(overlay)
}

async function applyAll(api: ApiClient, objects: readonly Manifest[], dryRun: boolean): Promise<number> {
  const known = objects.filter((object) => !isForeign(object)).map(forServer120)
  // Pods are created as soon as their Deployment is there, and need the others.
  for (const object of known.toSorted((a, b) => Number(a.kind === 'Deployment') - Number(b.kind === 'Deployment')))
    await api.apply(object, { dryRun })
  return known.length
}

/** The server must know every field of the manifests, so it must refuse one that it does not know. */
async function refusesUnknownField(api: ApiClient, objects: readonly Manifest[]): Promise<void> {
  const worker = objects.find(({ kind }) => kind === 'Deployment')
  if (worker === undefined) throw new Error('there is no Deployment')
  const misspelt = JSON.parse(JSON.stringify(worker).replace('"readinessProbe"', '"readynessProbe"')) as Manifest
  const refused = await api.apply(misspelt, { dryRun: true }).then(
    () => '',
    (error: unknown) => String(error),
  )
  if (!refused.includes('readynessProbe')) throw new Error(`the server took a misspelt field: ${refused || 'no error'}`)
}

interface World {
  readonly api: ApiClient
  readonly kubelet: Kubelet
  readonly adapter: MetricsAdapter
  readonly site: Site
  readonly samples: Sample[]
  readonly events: { t: number; what: string }[]
  readonly env: Readonly<Record<string, string>>
  roundFrom: number
}

/** Until the condition holds, with a sample every second; throws after `limit` seconds. */
async function watch(world: World, what: string, limit: number, isOver: () => boolean): Promise<void> {
  const until = Date.now() + limit * 1_000
  while (!isOver()) {
    if (Date.now() > until) throw new Error(`${what}: not within ${limit} s`)
    await second(world)
  }
}

async function second(world: World): Promise<void> {
  // After Ctrl-C no pod may start that the cleanup does not know.
  if (isEnding) return await new Promise(() => {})
  const next = Date.now() + 1_000
  const { kubelet, adapter, site, samples } = world
  await adapter.read()
  await kubelet.sync()
  const { status } = await world.api.get<{ status?: { desiredReplicas?: number } }>(
    '/apis/autoscaling/v2beta2/namespaces/shoal/horizontalpodautoscalers/shoal-worker',
  )
  const now = Date.now()
  const round = site.log.filter(({ t, path }) => t >= world.roundFrom && path !== '/robots.txt')
  const sample: Sample = {
    t: seconds(),
    useful: adapter.useful,
    wanted: status?.desiredReplicas ?? 0,
    running: kubelet.running('worker').length,
    left: world.roundFrom === 0 ? 0 : Math.max(0, site.pages - round.length),
    pagesPerSecond: round.filter(({ t }) => t > now - 5_000).length / 5,
  }
  samples.push(sample)
  if (samples.length % 10 === 0)
    say(
      `useful ${sample.useful ?? '-'}, wanted ${sample.wanted}, running ${sample.running}, ${sample.left} pages left, ${sample.pagesPerSecond.toFixed(1)} pages/s`,
    )
  await sleep(Math.max(0, next - Date.now()))
}

function mark(world: World, what: string): void {
  say(what)
  world.events.push({ t: seconds(), what })
}

async function startCrawl(world: World, spider: string): Promise<void> {
  world.roundFrom = Date.now()
  await shoal(['start', spider, '--fresh'], world.env)
  // The last sample is from before the crawl: without this one it would seem to be over.
  await second(world)
}

function workersReady(world: World): number {
  return world.kubelet.running('worker').filter(({ ready }) => ready).length
}

/** As `kubectl drain` does it: every worker is asked to leave, and the budget refuses those over half. */
async function evict(world: World): Promise<{ evicted: number; refused: number }> {
  const counts = { evicted: 0, refused: 0 }
  for (const { name } of world.kubelet.running('worker')) {
    const metadata = { name, namespace: 'shoal' }
    try {
      await world.api.post(`/api/v1/namespaces/shoal/pods/${name}/eviction`, {
        ...{ apiVersion: 'policy/v1beta1', kind: 'Eviction', metadata },
      })
      counts.evicted++
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error
      counts.refused++
    }
  }
  return counts
}

async function run(): Promise<number> {
  refuseWithout()
  say('This takes about 7 minutes, and 8 more if the control plane has to be built.')
  const script = fileURLToPath(new URL('build-control-plane.sh', import.meta.url))
  const built = spawnSync('sh', [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (built.status !== 0) return 4
  const binaries = built.stdout.trim().split('\n').at(-1) ?? ''

  // Kept until the next run: when something fails, the logs of all processes are here.
  const folder = join(dirname(binaries), 'kubernetes-run')
  rmSync(folder, { recursive: true, force: true })
  say(`logs of all processes: ${folder}`)
  closers.push(removeNetwork)
  await createNetwork(HOSTS)
  const redis = await startRedis({ password: 'secret', aof: 'everysec' })
  closers.push(() => redis.stop())
  const postgres = await startPostgres()
  closers.push(() => postgres.end())
  await forward(REDIS_PORT, redis.port)
  await forward(POSTGRES_PORT, postgres.port)
  const site = await startSite(HOSTS)
  closers.push(() => site.stop())

  const plane = await startControlPlane(binaries, join(folder, 'control-plane'))
  closers.push(() => plane.stop())
  const { api } = plane
  say('the API server answers')

  const manifests = copyWithSecrets({
    queue: `redis://:secret@redis:${REDIS_PORT}`,
    store: `postgres://postgres@postgres:${POSTGRES_PORT}/postgres`,
    ...{ token: TOKEN, 'redis.conf': 'requirepass secret', postgres_password: 'secret' },
  })
  closers.push(() => rmSync(manifests, { recursive: true, force: true }))
  site.shape((host) => (host < 35 ? 30 : 80))
  const objects = runOverlay(manifests, site)
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shoal' } })
  await refusesUnknownField(api, objects)
  for (const overlay of OVERLAYS) {
    const all = kustomize(join(manifests, 'overlays', overlay))
    const count = await applyAll(api, all, true)
    const foreign = all.filter(isForeign).map(({ kind }) => kind)
    say(
      `overlay ${overlay}: the server accepts ${count} objects${foreign.length > 0 ? `; not checked: ${foreign.join(', ')}` : ''}`,
    )
  }

  const kubelet = createKubelet(api, join(folder, 'pods'), { redis: HOST_ADDRESS, postgres: HOST_ADDRESS })
  closers.push(() => kubelet.stop())
  const adapter = await startMetricsAdapter(plane, TOKEN)
  closers.push(() => adapter.stop())
  await applyAll(api, objects, false)
  const spider = join(manifests, 'overlays', 'run', 'spider.ts')
  const env = {
    SHOAL_QUEUE: redis.url,
    SHOAL_STORE: postgres.address(),
  }
  const world: World = { api, kubelet, adapter, site, samples: [], events: [], env, roundFrom: 0 }
  await watch(world, 'the dashboard is ready and says how many workers are useful', 90, () => adapter.useful !== null)

  mark(world, `crawl of ${HOSTS} hosts`)
  await startCrawl(world, spider)
  await watch(world, 'the first crawl', 400, () => world.samples.at(-1)?.left === 0)
  mark(world, 'done')
  await watch(world, 'no workers after the crawl', 150, () => kubelet.running('worker').length === 0)
  const firstPages = site.pages
  mark(world, 'no workers')

  site.shape(() => 90)
  const secondFrom = Date.now()
  mark(world, 'second crawl')
  await startCrawl(world, spider)
  await watch(world, 'workers from zero', 120, () => workersReady(world) >= 3)
  await watch(world, 'settling', 20, after(10))
  const { evicted, refused } = await evict(world)
  mark(world, `drain: ${evicted} evicted, ${refused} refused`)
  await watch(world, 'settling', 40, after(15))
  await api.patch(
    pathOf({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shoal-worker', namespace: 'shoal' } }),
    {
      spec: { template: { metadata: { annotations: { rollout: 'second' } } } },
    },
  )
  mark(world, 'rolling update')
  await watch(world, 'settling', 60, after(35))
  const lost = await kubelet.loseNode('shk-node-1')
  mark(world, `node lost: ${lost} workers`)
  await watch(world, 'the second crawl', 400, () => world.samples.at(-1)?.left === 0)
  await watch(world, 'the last pages', 30, after(5))

  const [row] = await postgres.query("select count(*)::int as records from shoal.records where kind = 'page'")
  const violations = judge({
    ...{ log: site.log, delayMs: DELAY_MS, secondFrom, inFlightAtLoss: lost * SLOTS },
    ...{ endings: kubelet.endings, samples: world.samples, mostWorkers: MOST_WORKERS, records: Number(row?.records) },
    expectedPages: Math.max(firstPages, site.pages),
  })
  if (refused === 0) violations.push('the disruption budget refused nobody')
  writeFileSync(join(folder, 'samples.json'), JSON.stringify(world.samples))
  writeFileSync(PLOT, plot(world.samples, world.events))
  summary(world, violations)
  return violations.length > 0 ? 1 : 0
}

function after(secondsFromNow: number): () => boolean {
  const until = Date.now() + secondsFromNow * 1_000
  return () => Date.now() >= until
}

function summary({ site, kubelet, samples }: World, violations: readonly string[]): void {
  const stopped = kubelet.endings.filter(({ part, lost }) => part === 'worker' && !lost)
  const slowest = Math.max(0, ...stopped.map(({ tookS }) => tookS ?? 0))
  const pages = site.log.filter(({ path }) => path !== '/robots.txt').length
  console.log(`
pages fetched            ${pages}
most useful workers      ${Math.max(...samples.map(({ useful }) => useful ?? 0))}
most worker processes    ${Math.max(...samples.map(({ running }) => running))}
workers stopped          ${stopped.length}, all with exit code 0: ${stopped.every(({ code }) => code === 0)}, slowest ${slowest.toFixed(1)} s
violations               ${violations.length}`)
  for (const line of violations.slice(0, 20)) console.log(`  ${line}`)
  console.log('plot                     docs/img/kubernetes-autoscaling.svg')
}

await run().then(end, async (error: unknown) => {
  console.error(error)
  await end(1)
})
