import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createShop } from '../../src/demo/shop.js'
import { checkFetches, checkPoliteness, parseAccessLog } from '../support/access-log.js'
import { type Host, pause, StepFailed } from './host.js'
import { IMAGES } from './images.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROJECT = 'shc'
/** As the services `shop` and the spider of compose.yaml have them. */
const SHOP = { seed: 1, pages: 1_000, bytes: 6_000, faults: 1 }
const PACE = { delayMs: 40, concurrency: 4 }
const RETRIES = 3
/** What a worker of this crawl can have in flight when it is killed: the host allows no more at once. */
const IN_FLIGHT = PACE.concurrency
const HEALTH_MS = 1_000
const CRAWL_MS = 300_000

export interface Container {
  readonly name: string
  readonly service: string
  readonly state: string
  readonly exitCode: number
  readonly health: string
  readonly restarts: number
  readonly pid: number
}

/** The fleet of compose.yaml, under a project name and a port of its own. */
export class Fleet {
  readonly #host: Host
  readonly #secrets: string
  readonly #port: number
  #stopHealth = () => {}

  constructor(host: Host, port = 17_373) {
    this.#host = host
    this.#secrets = join(host.cache, 'secrets')
    this.#port = port
  }

  get token(): string {
    return readFileSync(join(this.#secrets, 'token'), 'utf8').trim()
  }

  async createSecrets(): Promise<string> {
    await this.#host.must('sh', [join(ROOT, 'deploy/compose/create-secrets.sh'), this.#secrets])
    return 'passwords and token'
  }

  compose(...args: string[]): Promise<string> {
    return this.#host.must('docker-compose', ['-f', join(ROOT, 'compose.yaml'), '-p', PROJECT, ...args], this.#env())
  }

  #env(): Record<string, string> {
    return { SECRETS: this.#secrets, IMAGE: IMAGES.shoal, DASHBOARD_PORT: `${this.#port}`, COMPOSE_PROFILES: 'demo' }
  }

  async up(workers: number): Promise<string> {
    this.#checkHealth()
    await this.compose('up', '-d', '--no-build', '--scale', `worker=${workers}`)
    await this.#until('every service healthy', 120_000, async () =>
      (await this.containers()).every(({ state, health }) => state === 'running' && health === 'healthy'),
    )
    const services = (await this.containers()).map(({ service }) => service)
    return `${services.length} containers healthy`
  }

  /** Where podman is not run by systemd, nobody runs its health checks. */
  #checkHealth(): void {
    let stopped = false
    const loop = async () => {
      while (!stopped) {
        for (const { name, state } of await this.containers())
          if (state === 'running') await this.#host.run('podman', ['healthcheck', 'run', name])
        await pause(HEALTH_MS)
      }
    }
    const done = loop().catch(() => {})
    this.#stopHealth = () => {
      stopped = true
      void done
    }
  }

  async containers(): Promise<Container[]> {
    const label = 'com.docker.compose.project'
    const ids = await this.#host.must('podman', ['ps', '-aq', '--filter', `label=${label}=${PROJECT}`])
    if (ids.trim() === '') return []
    // One that was removed meanwhile makes the command fail, after it has printed the others.
    const { out } = await this.#host.run('podman', ['inspect', ...ids.trim().split('\n')])
    return (JSON.parse(out) as Inspected[])
      .filter(({ Config }) => Config.Labels['com.docker.compose.oneoff'] !== 'True')
      .map(({ Name, State, RestartCount, Config }) => ({
        name: Name,
        service: Config.Labels['com.docker.compose.service'] ?? '',
        state: State.Status,
        exitCode: State.ExitCode,
        health: State.Health?.Status || 'none',
        restarts: RestartCount,
        pid: State.Pid,
      }))
  }

  async startCrawl(): Promise<string> {
    const out = await this.compose('run', '--rm', '-T', 'cli', 'start', 'shop.ts', '--json')
    return (JSON.parse(lastLine(out)) as { crawl: string }).crawl
  }

  /** The first process of a worker dies without a word, as when the machine runs out of memory. */
  async killWorker(): Promise<string> {
    await this.#until('pages fetched', 60_000, async () => (await this.accessLog()).length > 200)
    const victim = (await this.containers()).find(({ service }) => service === 'worker')
    if (victim === undefined) throw new StepFailed('no worker is running')
    process.kill(victim.pid, 'SIGKILL')
    return `${victim.name}, after ${(await this.accessLog()).length} requests`
  }

  async finish(crawl: string): Promise<string> {
    await this.#until('the crawl finished', CRAWL_MS, async () => {
      const out = await this.compose('run', '--rm', '-T', 'cli', 'crawls', 'list', '--json')
      return out.split('\n').some((line) => line.includes(crawl) && line.includes('"finished"'))
    })
    return crawl
  }

  async accessLog() {
    const shop = (await this.containers()).find(({ service }) => service === 'shop')
    const out = await this.#host.must('podman', ['exec', shop?.name ?? '', 'cat', '/data/shop/access.log'])
    return parseAccessLog(out.slice(0, out.lastIndexOf('\n') + 1))
  }

  /** What the shop and Postgres say, and nothing that Shoal says of itself. */
  async judge(): Promise<string> {
    const log = await this.accessLog()
    const site = createShop(SHOP).siteMap()
    const polite = checkPoliteness(log, PACE)
    const fetched = checkFetches(log, site, { retries: RETRIES, inFlightAtKills: IN_FLIGHT })
    const wanted = site.flatMap(({ kind, alwaysFails, product }) =>
      kind === 'product' && !alwaysFails && product !== undefined ? [product.sku] : [],
    )
    const stored = await this.#storedKeys()
    const faults = [
      ...polite.violations,
      ...fetched.violations,
      ...wanted.filter((sku) => !stored.includes(sku)).map((sku) => `${sku} has no record`),
      ...(stored.length === new Set(stored).size ? [] : ['a product has two records']),
      ...(stored.length === wanted.length ? [] : [`${stored.length} records, ${wanted.length} products`]),
    ]
    if (faults.length > 0) throw new StepFailed(faults.slice(0, 20).join('\n'))
    return `${log.length} requests, ${fetched.extra} repeated; smallest gap ${polite.minGapMs.toFixed(0)} of ${PACE.delayMs} ms; ${stored.length} records, one per product`
  }

  async #storedKeys(): Promise<string[]> {
    const out = await this.compose('run', '--rm', '-T', 'cli', 'records', 'list', '--limit', '100000', '--json')
    return out
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => (JSON.parse(line) as { key: string }).key)
  }

  async dashboard(): Promise<string> {
    const at = `http://127.0.0.1:${this.#port}`
    const status = async (path: string, headers = {}) => (await fetch(`${at}${path}`, { headers })).status
    const found = [
      await status('/healthz'),
      await status('/api/crawls'),
      await status('/api/crawls', { authorization: `Bearer ${this.token}` }),
    ]
    if (found.join() !== '200,401,200')
      throw new StepFailed(`/healthz, without and with the token: ${found.join(', ')}`)
    return '/healthz 200 without a token; API 401 without, 200 with it'
  }

  /** As `docker compose stop`: the codes are those of the commands after SIGTERM. */
  async stop(): Promise<string> {
    this.#stopHealth()
    await this.compose('stop')
    const ended = await this.containers()
    const wrong = ended.filter(({ exitCode }) => exitCode !== 0)
    if (wrong.length > 0)
      throw new StepFailed(`exit codes: ${wrong.map(({ name, exitCode }) => `${name} ${exitCode}`).join(', ')}`)
    return `exit code 0: ${ended.map(({ name }) => name).join(', ')}`
  }

  async logs(): Promise<string> {
    const lines = await this.compose('logs', '--no-color', '--tail', '5').catch(() => '')
    return lines.split('\n').slice(-40).join('\n')
  }

  /** Also after a failure. */
  async remove(): Promise<void> {
    this.#stopHealth()
    await this.#host.run(
      'docker-compose',
      ['-f', join(ROOT, 'compose.yaml'), '-p', PROJECT, 'down', '-v', '-t', '5'],
      this.#env(),
    )
    for (const { name } of await this.containers()) await this.#host.run('podman', ['rm', '-f', name])
  }

  async #until(what: string, ms: number, isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + ms
    while (!(await isTrue())) {
      if (performance.now() > deadline) {
        const seen = (await this.containers()).map(({ name, state, health }) => `${name} ${state} ${health}`)
        throw new StepFailed(`not within ${ms / 1000} s: ${what}\n${seen.join('\n')}\n${await this.logs()}`)
      }
      await pause(500)
    }
  }
}

interface Inspected {
  readonly Name: string
  readonly RestartCount: number
  readonly State: {
    readonly Status: string
    readonly ExitCode: number
    readonly Pid: number
    readonly Health?: { readonly Status?: string }
  }
  readonly Config: { readonly Labels: Readonly<Record<string, string>> }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
