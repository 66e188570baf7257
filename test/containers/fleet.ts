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
const SHOP = { seed: 1, pages: 500, bytes: 6_000, faults: 1 }
/** One request at a time: with more, the shop's log shows when they arrive on a busy machine, and not when they were allowed. */
const PACE = { delayMs: 100, concurrency: 1 }
const RETRIES = 3
/** What a worker of this crawl can have in flight when it is killed: the host allows no more at once. */
const IN_FLIGHT = PACE.concurrency
const HEALTH_MS = 1_000
const CRAWL_MS = 400_000

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
  #killed = ''

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
    await this.remove()
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
    const victim = await this.#worker()
    process.kill(victim.pid, 'SIGKILL')
    this.#killed = victim.name
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

  /** From the host through the published port, and from another container by service names, without a token and with it. */
  async ports(): Promise<string> {
    const found = [
      ...(await answers(`http://127.0.0.1:${this.#port}`, this.token)),
      ...(await this.#answersInside('http://dashboard:7373')),
      ...(await this.#answersInside('http://scheduler:9464')),
    ]
    const wrong = found.filter(({ path, token, status }) => status !== (token || isProbe(path) ? 200 : 401))
    if (wrong.length > 0) throw new StepFailed(wrong.map((one) => JSON.stringify(one)).join('\n'))
    return `${found.length} answers: probes 200 without the token, the rest 401 without it and 200 with it`
  }

  async #answersInside(at: string): Promise<Answer[]> {
    const worker = await this.#worker()
    const script = `const { readFileSync } = await import('node:fs')
      const token = readFileSync('/run/secrets/token', 'utf8').trim()
      ${answers}
      console.log(JSON.stringify(await answers('${at}', token)))`
    const out = await this.#host.must('podman', [...['exec', worker.name, 'node', '--input-type=module', '-e', script]])
    return JSON.parse(lastLine(out)) as Answer[]
  }

  async #worker(): Promise<Container> {
    const worker = (await this.containers()).find(({ service }) => service === 'worker')
    if (worker === undefined) throw new StepFailed('no worker is running')
    return worker
  }

  /** Node is the first process: nobody else passes signals on to it, or collects children that died. */
  async firstProcess(): Promise<string> {
    const name = `${PROJECT}_procs`
    await this.compose('run', '-d', '--name', name, 'cli', 'worker', 'shop.ts', '--procs', '2', '--grace', '20s')
    let children: Process[] = []
    await this.#until('two worker processes', 120_000, async () => {
      children = (await this.#processes(name)).filter(({ parent }) => parent === '1')
      return children.length === 2
    })
    await this.#host.must('podman', ['exec', name, 'sh', '-c', `kill -9 ${children[0]?.pid}`])
    await this.#until('the killed child replaced', 60_000, async () => {
      const now = (await this.#processes(name)).filter(({ parent, state }) => parent === '1' && state !== 'Z')
      return now.length === 2 && now.every(({ pid }) => pid !== children[0]?.pid)
    })
    const left = (await this.#processes(name)).filter(({ state }) => state === 'Z')
    if (left.length > 0) throw new StepFailed(`${left.length} children that died were not collected`)
    const write = await this.#host.run('podman', ['exec', name, 'sh', '-c', 'touch /app/x 2>&1'])
    if (write.code === 0 || !write.out.includes('Read-only')) throw new StepFailed('the root file system is writable')
    await this.#host.must('podman', ['stop', '-t', '35', name])
    const code = await this.#host.must('podman', ['inspect', '--format', '{{.State.ExitCode}}', name])
    await this.#host.run('podman', ['rm', '-f', name])
    if (code.trim() !== '0') throw new StepFailed(`--procs 2 ended with exit code ${code.trim()} after SIGTERM`)
    return 'worker --procs 2: a killed child collected and replaced, root read-only, exit code 0 after SIGTERM'
  }

  async #processes(name: string): Promise<Process[]> {
    const { out } = await this.#host.run('podman', ['top', name, 'pid', 'ppid', 'state'])
    return out
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .map(([pid = '', parent = '', state = '']) => ({ pid, parent, state }))
  }

  /** As `docker compose stop`: the codes are those of the commands after SIGTERM. */
  async stop(): Promise<string> {
    this.#stopHealth()
    const killed = (await this.containers()).find(({ name }) => name === this.#killed)
    if (killed?.state !== 'running') throw new StepFailed(`${this.#killed} was not started again`)
    await this.compose('stop')
    const ended = await this.containers()
    const wrong = ended.filter(({ exitCode }) => exitCode !== 0)
    if (wrong.length > 0)
      throw new StepFailed(`exit codes: ${wrong.map(({ name, exitCode }) => `${name} ${exitCode}`).join(', ')}`)
    return `exit code 0: ${ended.map(({ service }) => service).join(', ')}; ${killed.name} restarted ${killed.restarts} times`
  }

  async logs(): Promise<string> {
    const lines = await this.compose('logs', '--no-color', '--tail', '5').catch(() => '')
    return lines.split('\n').slice(-40).join('\n')
  }

  /** Also after a failure, and before the start: a run that was interrupted while `up` was still creating things leaves some of them. */
  async remove(): Promise<void> {
    this.#stopHealth()
    await this.#host.run(
      'docker-compose',
      ['-f', join(ROOT, 'compose.yaml'), '-p', PROJECT, 'down', '-v', '-t', '5'],
      this.#env(),
    )
    const left = await this.#host.run('podman', ['ps', '-aq', '--filter', `name=^${PROJECT}_`])
    for (const id of left.out.split('\n').filter(Boolean)) await this.#host.run('podman', ['rm', '-f', '-v', id])
    const volumes = await this.#host.run('podman', ['volume', 'ls', '-q', '--filter', `name=^${PROJECT}_`])
    for (const name of volumes.out.split('\n').filter(Boolean))
      await this.#host.run('podman', ['volume', 'rm', '-f', name])
    await this.#host.run('podman', ['network', 'rm', '-f', `${PROJECT}_default`])
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

interface Process {
  readonly pid: string
  readonly parent: string
  readonly state: string
}

interface Answer {
  readonly path: string
  readonly token: boolean
  readonly status: number
}

/** Also runs in a container, as text: it uses nothing but what is in it. */
async function answers(at: string, token: string): Promise<Answer[]> {
  const found: Answer[] = []
  for (const path of ['/healthz', '/readyz', '/metrics', '/scale'])
    for (const sends of [false, true]) {
      const { status } = await fetch(at + path, sends ? { headers: { authorization: `Bearer ${token}` } } : {})
      found.push({ path: at + path, token: sends, status })
    }
  return found
}

function isProbe(path: string): boolean {
  return path.endsWith('/healthz') || path.endsWith('/readyz')
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
