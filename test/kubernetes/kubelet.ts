import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ConfigMap, Pod, Secret, Service, Volume } from 'kubernetes-types/core/v1.d.ts'
import { type ApiClient, ApiError } from './api-client.js'
import { createPodNetwork, HOST_ADDRESS, type PodNetwork, removePodNetwork } from './network.js'

const CONTAINER = fileURLToPath(new URL('container.sh', import.meta.url))
const PACKAGE = fileURLToPath(new URL('../../', import.meta.url))
const PODS = '/api/v1/namespaces/shoal/pods'
const NODES = ['shk-node-1', 'shk-node-2'] as const

/** How a container ended. */
export interface Ending {
  readonly pod: string
  readonly part: string
  readonly code: number | string
  /** Seconds from SIGTERM to the end; null if nobody asked it to stop. */
  readonly tookS: number | null
  readonly graceS: number
  /** Its node was lost: SIGKILL without a notice. */
  readonly lost: boolean
}

interface Running {
  readonly pod: Pod
  readonly name: string
  readonly node: string
  readonly network: PodNetwork
  child: ChildProcess
  ready: boolean
  probedAt: number
  termAt: number | null
  exited: number | string | null
  lost: boolean
}

export interface Kubelet {
  readonly endings: readonly Ending[]
  sync(): Promise<void>
  /** Without those that have been asked to stop. */
  running(part: string): { name: string; node: string; ready: boolean }[]
  /** SIGKILL for everything on the node, and its pods are gone for the API server too. */
  loseNode(node: string): Promise<number>
  stop(): Promise<void>
}

/**
 * Two nodes: pods of the API server become processes in namespaces of their own. What it does not have: images, memory limits, network policies. It sets the
 * variables of Services even where the manifest switches them off: a start must not break by them.
 */
export function createKubelet(api: ApiClient, folder: string, hosts: Readonly<Record<string, string>>): Kubelet {
  const pods = new Map<string, Running>()
  const endings: Ending[] = []
  let started = 0
  let turn = 0

  async function start(pod: Pod): Promise<void> {
    const name = pod.metadata?.name ?? ''
    const network = await createPodNetwork(started++)
    const child = await startContainer(api, { pod, name, network, folder: join(folder, name), hosts })
    const running: Running = {
      ...{ pod, name, node: pod.spec?.nodeName ?? '', network, child },
      ...{ ready: false, probedAt: 0, termAt: null, exited: null, lost: false },
    }
    pods.set(name, running)
    child.once('exit', (code, signal) => ended(running, code ?? signal ?? 'unknown'))
    await report(api, running)
  }

  function ended(running: Running, code: number | string): void {
    running.exited = code
    const tookS = running.termAt === null ? null : (Date.now() - running.termAt) / 1_000
    const graceS = running.pod.spec?.terminationGracePeriodSeconds ?? 30
    endings.push({ pod: running.name, part: partOf(running.pod), code, tookS, graceS, lost: running.lost })
  }

  async function forget(running: Running): Promise<void> {
    pods.delete(running.name)
    await removePodNetwork(running.network)
  }

  async function stopOne(running: Running, pod: Pod): Promise<void> {
    if (running.exited !== null) {
      await api.delete(`${PODS}/${running.name}`, { gracePeriodSeconds: 0 }).catch(ifGone)
      await forget(running)
    } else if (running.termAt === null) {
      running.termAt = Date.now()
      await signal(running, 'SIGTERM')
    } else if (Date.now() - running.termAt > (pod.metadata?.deletionGracePeriodSeconds ?? 30) * 1_000) {
      await signal(running, 'SIGKILL')
    }
  }

  async function sync(): Promise<void> {
    const { items } = await api.get<{ items: Pod[] }>(PODS)
    for (const pod of items) {
      const name = pod.metadata?.name ?? ''
      const running = pods.get(name)
      const isDeleted = pod.metadata?.deletionTimestamp !== undefined
      if (running !== undefined && isDeleted) await stopOne(running, pod)
      else if (running !== undefined) await probe(api, running)
      else if (isDeleted) await api.delete(`${PODS}/${name}`, { gracePeriodSeconds: 0 }).catch(ifGone)
      else if (pod.spec?.nodeName === undefined) await bind(api, name, NODES[turn++ % NODES.length] ?? NODES[0])
      else await start(pod)
    }
    const known = new Set(items.map((pod) => pod.metadata?.name))
    for (const running of pods.values())
      if (!known.has(running.name)) {
        await signal(running, 'SIGKILL')
        await forget(running)
      }
  }

  return {
    endings,
    sync,
    running: (part) =>
      [...pods.values()]
        .filter(({ pod, exited, termAt }) => partOf(pod) === part && exited === null && termAt === null)
        .map(({ name, node, ready }) => ({ name, node, ready })),
    async loseNode(node) {
      const there = [...pods.values()].filter((running) => running.node === node && partOf(running.pod) === 'worker')
      for (const running of there) running.lost = true
      await Promise.all(there.map((running) => signal(running, 'SIGKILL')))
      for (const { name } of there) await api.delete(`${PODS}/${name}`, { gracePeriodSeconds: 0 }).catch(ifGone)
      return there.length
    },
    async stop() {
      for (const running of pods.values()) await signal(running, 'SIGKILL').catch(() => {})
      for (const running of pods.values()) await forget(running).catch(() => {})
    },
  }
}

/** PID 1 of the container is the only child of the shell that waits for it; seen from here it has another number. */
async function signal(running: Running, name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (running.exited !== null || running.child.pid === undefined) return
  const pid = running.child.pid
  const inside = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  if (inside === '') running.child.kill(name)
  else process.kill(Number(inside), name)
}

function partOf(pod: Pod): string {
  return pod.metadata?.labels?.['app.kubernetes.io/component'] ?? ''
}

function ifGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 404) throw error
}

async function bind(api: ApiClient, name: string, node: string): Promise<void> {
  const target = { apiVersion: 'v1', kind: 'Node', name: node }
  await api.post(`${PODS}/${name}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target })
}

interface ContainerPlan {
  readonly pod: Pod
  readonly name: string
  readonly network: PodNetwork
  readonly folder: string
  readonly hosts: Readonly<Record<string, string>>
}

async function startContainer(api: ApiClient, plan: ContainerPlan): Promise<ChildProcess> {
  const { pod, name, network, folder } = plan
  const [container] = pod.spec?.containers ?? []
  const user = pod.spec?.securityContext?.runAsUser
  if (container === undefined || user === undefined) throw new Error(`pod ${name} has no container or no user`)
  const root = join(folder, 'root')
  mkdirSync(root, { recursive: true })
  const hosts = Object.entries({ localhost: '127.0.0.1', [name]: network.address, ...plan.hosts })
  writeFileSync(join(folder, 'hosts'), hosts.map(([host, address]) => `${address} ${host}\n`).join(''))

  const mounts = [
    `ro ${PACKAGE} /app`,
    `ro ${dirname(process.execPath)} /opt/node`,
    `ro ${join(folder, 'hosts')} /etc/hosts`,
  ]
  for (const { name: volume, mountPath } of container.volumeMounts ?? []) {
    const found = pod.spec?.volumes?.find((entry) => entry.name === volume)
    if (found === undefined) throw new Error(`pod ${name} has no volume ${volume}`)
    const how = found.emptyDir === undefined ? 'ro' : 'rw'
    mounts.push(`${how} ${await createVolume(api, found, join(folder, 'volumes', volume), user)} ${mountPath}`)
  }
  writeFileSync(join(folder, 'mounts'), `${mounts.join('\n')}\n`)

  const env = await environmentOf(api, pod)
  const filled = (container.args ?? []).map((arg) => arg.replace(/\$\((\w+)\)/g, (_, key: string) => env[key] ?? ''))
  const log = openSync(join(folder, 'log'), 'a')
  const inside = ['unshare', '--mount', '--uts', 'sh', CONTAINER]
  const command = ['/opt/node/node', '/app/bin/shoal.js', ...filled]
  return spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'ip'],
      'netns',
      'exec',
      network.namespace,
      ...inside,
      root,
      name,
      String(user),
      join(folder, 'mounts'),
      '/spiders',
      ...command,
    ],
    { stdio: ['ignore', log, log], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', ...env } },
  )
}

/** Files of a ConfigMap or a Secret are links to a hidden folder, as a kubelet makes them: it can replace all of them at once. */
async function createVolume(api: ApiClient, volume: Volume, folder: string, user: number): Promise<string> {
  mkdirSync(join(folder, '..data'), { recursive: true })
  const path = (kind: string, name: string | undefined) => `/api/v1/namespaces/shoal/${kind}/${name}`
  let files: [string, string | Buffer][] = []
  if (volume.secret !== undefined) {
    const { data = {} } = await api.get<Secret>(path('secrets', volume.secret.secretName))
    files = Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64')])
  } else if (volume.configMap !== undefined) {
    const { data = {} } = await api.get<ConfigMap>(path('configmaps', volume.configMap.name))
    files = Object.entries(data)
  } else if (volume.emptyDir === undefined) throw new Error(`a volume of an unknown kind: ${volume.name}`)
  const mode = volume.secret?.defaultMode ?? volume.configMap?.defaultMode ?? 0o644
  for (const [name, content] of files) {
    writeFileSync(join(folder, '..data', name), content)
    chownSync(join(folder, '..data', name), 0, user)
    chmodSync(join(folder, '..data', name), mode)
    symlinkSync(join('..data', name), join(folder, name))
  }
  chownSync(folder, volume.emptyDir === undefined ? 0 : user, user)
  return folder
}

async function environmentOf(api: ApiClient, pod: Pod): Promise<Record<string, string>> {
  const [container] = pod.spec?.containers ?? []
  const env: Record<string, string> = {}
  const { items } = await api.get<{ items: Service[] }>('/api/v1/namespaces/shoal/services')
  for (const service of items) Object.assign(env, serviceVariables(service))
  for (const { configMapRef } of container?.envFrom ?? []) {
    const { data = {} } = await api.get<ConfigMap>(`/api/v1/namespaces/shoal/configmaps/${configMapRef?.name}`)
    Object.assign(env, data)
  }
  for (const { name, value = '' } of container?.env ?? []) env[name] = value
  return env
}

/** As a kubelet names them: a Service `shoal-dashboard` sets SHOAL_DASHBOARD_PORT=tcp://…, which is also the name of a setting. */
export function serviceVariables({ metadata, spec }: Service): Record<string, string> {
  const name = (metadata?.name ?? '').toUpperCase().replaceAll('-', '_')
  const address = spec?.clusterIP ?? ''
  const [first] = spec?.ports ?? []
  if (address === '' || address === 'None' || first === undefined) return {}
  const env: Record<string, string> = {
    [`${name}_SERVICE_HOST`]: address,
    [`${name}_SERVICE_PORT`]: String(first.port),
    [`${name}_PORT`]: `tcp://${address}:${first.port}`,
  }
  for (const port of spec?.ports ?? []) {
    if (port.name !== undefined) env[`${name}_SERVICE_PORT_${port.name.toUpperCase()}`] = String(port.port)
    const prefix = `${name}_PORT_${port.port}_TCP`
    Object.assign(env, {
      [prefix]: `tcp://${address}:${port.port}`,
      [`${prefix}_PROTO`]: 'tcp',
      [`${prefix}_PORT`]: String(port.port),
      [`${prefix}_ADDR`]: address,
    })
  }
  return env
}

async function probe(api: ApiClient, running: Running): Promise<void> {
  const [container] = running.pod.spec?.containers ?? []
  const readiness = container?.readinessProbe
  if (running.exited !== null) return restart(running)
  if (readiness?.httpGet === undefined) return
  if (Date.now() - running.probedAt < (running.ready ? (readiness.periodSeconds ?? 10) * 1_000 : 1_000)) return
  running.probedAt = Date.now()
  const { path = '/', port } = readiness.httpGet
  const ready = await isReady(running.network.address, Number(port), path, (readiness.timeoutSeconds ?? 1) * 1_000)
  if (ready === running.ready) return
  running.ready = ready
  await report(api, running)
}

/** None of the containers may end without being asked: the run reports it, and a restart would hide it. */
function restart({ name, exited }: Running): never {
  throw new Error(`the container of ${name} ended with ${exited} on its own`)
}

function isReady(host: string, port: number, path: string, timeout: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path, timeout }, (response) => {
      response.resume()
      resolve((response.statusCode ?? 500) < 400)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}

async function report(api: ApiClient, { pod, name, network, ready }: Running): Promise<void> {
  const now = new Date().toISOString()
  const condition = (type: string, isTrue: boolean) => ({
    ...{ type, status: isTrue ? 'True' : 'False', lastTransitionTime: now },
  })
  const [container] = pod.spec?.containers ?? []
  const status = {
    phase: 'Running',
    podIP: network.address,
    podIPs: [{ ip: network.address }],
    hostIP: HOST_ADDRESS,
    startTime: now,
    conditions: [
      condition('Initialized', true),
      condition('PodScheduled', true),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    containerStatuses: [
      {
        ...{ name: container?.name, image: container?.image, imageID: 'this machine', ready, restartCount: 0 },
        state: { running: { startedAt: now } },
      },
    ],
  }
  await api.patch(`${PODS}/${name}/status`, { status }).catch(ifGone)
}

/** Runs a command of Shoal on this machine, as `kubectl exec` would in a pod. */
export async function shoal(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(PACKAGE, 'bin/shoal.js'), ...args], {
    env: { ...process.env, ...env },
  })
  return stdout
}
