import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:https'
import type { ApiClient } from './api-client.js'
import type { ControlPlane } from './control-plane.js'
import { HOST_ADDRESS } from './network.js'

const PORT = 6444
const METRIC = 'shoal_workers_useful'
const GROUP = 'external.metrics.k8s.io'

export interface MetricsAdapter {
  /** The last reading; null while the dashboard does not answer. */
  readonly useful: number | null
  read(): Promise<void>
  stop(): void
}

/** What prometheus-adapter or KEDA is in a cluster: hands Shoal's own figure to the autoscaler. It asks by the name of the Service, as KEDA does. */
export async function startMetricsAdapter(plane: ControlPlane, token: string): Promise<MetricsAdapter> {
  let useful: number | null = null
  const certificate = { key: readFileSync(plane.key), cert: readFileSync(plane.certificate) }
  const server = createServer(certificate, (request, response) => {
    const reply = answer((request.url ?? '').split('?')[0] ?? '', useful)
    response.writeHead(reply === null ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply ?? { kind: 'Status', status: 'Failure' }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(PORT, HOST_ADDRESS, resolve)
  })
  await register(plane.api)
  return {
    get useful() {
      return useful
    },
    async read() {
      useful = await readScale(plane.api, token).catch(() => null)
    },
    stop: () => void server.close(),
  }
}

function answer(path: string, useful: number | null): object | null {
  if (path === `/apis/${GROUP}/v1beta1`)
    return {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: `${GROUP}/v1beta1`,
      resources: [
        { name: METRIC, singularName: '', namespaced: true, kind: 'ExternalMetricValueList', verbs: ['get'] },
      ],
    }
  // No number is better than an old one: the autoscaler keeps its replicas.
  if (!path.endsWith(`/${METRIC}`) || useful === null) return null
  const item = { metricName: METRIC, metricLabels: {}, timestamp: new Date().toISOString(), value: String(useful) }
  return { kind: 'ExternalMetricValueList', apiVersion: `${GROUP}/v1beta1`, metadata: {}, items: [item] }
}

async function readScale(api: ApiClient, token: string): Promise<number> {
  interface Endpoints {
    readonly subsets?: readonly {
      addresses?: readonly { ip: string }[]
      ports?: readonly { name: string; port: number }[]
    }[]
  }
  const { subsets } = await api.get<Endpoints>('/api/v1/namespaces/shoal/endpoints/shoal-dashboard')
  const address = subsets?.[0]?.addresses?.[0]?.ip
  const port = subsets?.[0]?.ports?.find(({ name }) => name === 'metrics')?.port
  if (address === undefined || port === undefined) throw new Error('the dashboard is not ready')
  const headers = { authorization: `Bearer ${token}`, host: `shoal-dashboard:${port}` }
  const text = await new Promise<string>((resolve, reject) => {
    const request = get({ host: address, port, path: '/scale', headers, timeout: 3_000 }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        body += part
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(body) : reject(new Error(body))))
    })
    request.on('timeout', () => request.destroy(new Error('no answer within 3 s')))
    request.on('error', reject)
  })
  return (JSON.parse(text) as { workers: number }).workers
}

async function register(api: ApiClient): Promise<void> {
  const metadata = { name: 'metrics-adapter', namespace: 'default' }
  await api.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ port: 443, targetPort: PORT, protocol: 'TCP' }] },
  })
  const subsets = [{ addresses: [{ ip: HOST_ADDRESS }], ports: [{ port: PORT, protocol: 'TCP' }] }]
  await api.apply({ apiVersion: 'v1', kind: 'Endpoints', metadata, subsets })
  // Not applied: the server of 1.20 panics when an APIService is ("FieldManager must be installed to run apply").
  await api.post('/apis/apiregistration.k8s.io/v1/apiservices', {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1beta1.${GROUP}` },
    spec: {
      group: GROUP,
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name: metadata.name, namespace: metadata.namespace, port: 443 },
    },
  })
}
