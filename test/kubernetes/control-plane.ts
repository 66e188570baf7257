import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, createApiClient } from './api-client.js'
import { HOST_ADDRESS, SERVICE_RANGE } from './network.js'

export interface ControlPlane {
  readonly api: ApiClient
  readonly key: string
  readonly certificate: string
  stop(): Promise<void>
}

const TOKEN = 'shk-admin'
const API_PORT = 6443
const ETCD = `http://${HOST_ADDRESS}:2379`

/** No scheduler and no node controllers: the kubelet of this run binds pods to its own nodes. No podgc: it deletes pods whose node the server does not know. */
const CONTROLLERS =
  'deployment,replicaset,horizontalpodautoscaling,disruption,endpoint,serviceaccount,garbagecollector,namespace'

export async function startControlPlane(binaries: string, folder: string): Promise<ControlPlane> {
  mkdirSync(folder, { recursive: true })
  const file = (name: string) => join(folder, name)
  const key = file('server.key')
  const certificate = file('server.crt')
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=shk', '-keyout', key],
      ...['-out', certificate, '-addext', `subjectAltName=IP:${HOST_ADDRESS}`],
    ],
    { stdio: 'ignore' },
  )
  writeFileSync(file('tokens.csv'), `${TOKEN},admin,admin,"system:masters"\n`)
  writeFileSync(file('kubeconfig'), kubeconfig(certificate))

  const children: ChildProcess[] = []
  const start = (command: string, name: string, args: readonly string[]) => {
    const log = openSync(file(`${name}.log`), 'w')
    children.push(spawn(command, args, { stdio: ['ignore', log, log] }))
  }
  const stop = async () => {
    for (const child of children) child.kill('SIGKILL')
    while (children.some(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) await sleep(20)
  }

  start('etcd', 'etcd', [
    ...['--data-dir', file('etcd'), '--listen-client-urls', ETCD, '--advertise-client-urls', ETCD],
    ...['--listen-peer-urls', `http://${HOST_ADDRESS}:2380`, '--unsafe-no-fsync'],
  ])
  start(join(binaries, 'kube-apiserver'), 'kube-apiserver', [
    `--etcd-servers=${ETCD}`,
    `--bind-address=${HOST_ADDRESS}`,
    `--advertise-address=${HOST_ADDRESS}`,
    `--secure-port=${API_PORT}`,
    `--tls-cert-file=${certificate}`,
    `--tls-private-key-file=${key}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--authorization-mode=AlwaysAllow',
    '--service-account-issuer=https://shk',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    // The metrics adapter is reached by its endpoint: nobody routes the addresses of Services here.
    '--enable-aggregator-routing=true',
    // Lets the autoscaler go to 0, as KEDA does on any cluster.
    '--feature-gates=HPAScaleToZero=true',
  ])
  const api = createApiClient({
    ...{ host: HOST_ADDRESS, port: API_PORT, token: TOKEN },
    ca: readFileSync(certificate, 'utf8'),
  })
  await untilReady(api, folder, stop)
  start(join(binaries, 'kube-controller-manager'), 'kube-controller-manager', [
    `--kubeconfig=${file('kubeconfig')}`,
    `--controllers=${CONTROLLERS}`,
    '--leader-elect=false',
    '--port=0',
    `--bind-address=${HOST_ADDRESS}`,
    `--cert-dir=${folder}`,
    // 15 s by default: the run would take three times as long to show the same.
    '--horizontal-pod-autoscaler-sync-period=5s',
  ])
  return { api, key, certificate, stop }
}

async function untilReady(api: ApiClient, folder: string, stop: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 240; tries++) {
    try {
      await api.get('/api/v1/namespaces/kube-system')
      return
    } catch {
      await sleep(500)
    }
  }
  await stop()
  throw new Error(`the API server did not start within 2 minutes: see ${join(folder, 'kube-apiserver.log')}`)
}

function kubeconfig(certificate: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'shk', cluster: { server: `https://${HOST_ADDRESS}:${API_PORT}`, 'certificate-authority': certificate } },
    ],
    users: [{ name: 'admin', user: { token: TOKEN } }],
    contexts: [{ name: 'shk', context: { cluster: 'shk', user: 'admin' } }],
    'current-context': 'shk',
  })
}
