import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { Service, ServiceAccount } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { graceOf, graceSetting, ON_DEMAND } from './grace.js'
import type { Kustomization } from './kustomization.js'
import {
  DASHBOARD_PORT,
  FLEET,
  labelsOf,
  METRICS_PORT,
  nameOf,
  SECRETS_FOLDER,
  SERVICE_ACCOUNT,
  SETTINGS,
} from './names.js'
import { METRICS_ADDRESS, shoalDeployment } from './pods.js'

/** `$(SPIDER)` is filled in by the kubelet, from the ConfigMap. */
export const SPIDER = '$(SPIDER)'

/** Removed by components/hpa and components/keda: a replica count in the file would undo what the autoscaler decided with every apply. */
const REPLICAS = 2

export const worker: Deployment = shoalDeployment({
  part: 'worker',
  replicas: REPLICAS,
  args: ['worker', SPIDER, '--metrics', METRICS_ADDRESS],
  env: graceSetting(ON_DEMAND),
  ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
  probed: METRICS_PORT,
  // A worker computes on one core. It gets no CPU limit: a throttled process misses its beats, and the fleet takes its pages away.
  resources: { requests: { cpu: '500m', memory: '512Mi' }, limits: { memory: '1Gi' } },
  graceSeconds: ON_DEMAND.pod,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
  more: {
    topologySpreadConstraints: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: labelsOf('worker') },
    })),
  },
})

/** Half of the workers may go at once: the others take over, and pages in flight are finished within the grace period. */
export const workerBudget: PodDisruptionBudget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: nameOf('worker'), labels: labelsOf('worker') },
  spec: { maxUnavailable: '50%', selector: { matchLabels: labelsOf('worker') } },
}

/** One is enough, and it has no PodDisruptionBudget: with one replica that would block every drain of its node. */
export const dashboard: Deployment = shoalDeployment({
  part: 'dashboard',
  replicas: 1,
  args: ['dashboard', SPIDER, '--host', '0.0.0.0', '--port', String(DASHBOARD_PORT), '--metrics', METRICS_ADDRESS],
  ports: [
    { name: 'http', containerPort: DASHBOARD_PORT, protocol: 'TCP' },
    { name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' },
  ],
  probed: DASHBOARD_PORT,
  resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '512Mi' } },
  graceSeconds: graceOf(0).pod,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
})

export const dashboardService: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: nameOf('dashboard'), labels: labelsOf('dashboard') },
  spec: {
    type: 'ClusterIP',
    selector: labelsOf('dashboard'),
    // The second one is for machines: metrics of the queue, and /scale for autoscalers. An Ingress publishes only the first.
    ports: [
      { name: 'http', port: DASHBOARD_PORT, targetPort: 'http', protocol: 'TCP' },
      { name: 'metrics', port: METRICS_PORT, targetPort: 'metrics', protocol: 'TCP' },
    ],
  },
}

/** Shoal never talks to the API of the cluster, so its pods get no token for it. */
export const serviceAccount: ServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: SERVICE_ACCOUNT, labels: FLEET },
  automountServiceAccountToken: false,
}

/** Private, shared and link-local addresses; 169.254.169.254 hands out the credentials of a cloud machine. */
const NOT_THE_WEB_4 = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '127.0.0.0/8',
]
const NOT_THE_WEB_6 = ['fc00::/7', 'fe80::/10', '::1/128', '64:ff9b::/96']

/** The second line of defence: Shoal itself refuses private addresses before it connects (docs/politeness.md). */
export const networkPolicy: NetworkPolicy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'shoal', labels: FLEET },
  spec: {
    podSelector: {
      matchExpressions: [
        { key: 'app.kubernetes.io/name', operator: 'In', values: ['shoal'] },
        { key: 'app.kubernetes.io/component', operator: 'In', values: ['worker', 'scheduler', 'dashboard'] },
      ],
    },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ ports: [{ port: 'metrics' }] }, { ports: [{ port: 'http' }] }],
    egress: [
      {
        to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      { to: [{ podSelector: { matchLabels: FLEET } }], ports: [{ port: 6379 }, { port: 5432 }] },
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: NOT_THE_WEB_4 } },
          { ipBlock: { cidr: '::/0', except: NOT_THE_WEB_6 } },
        ],
      },
    ],
  },
}

export const base: Kustomization = {
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  resources: ['worker.yaml', 'dashboard.yaml', 'service-account.yaml', 'network-policy.yaml'],
  configMapGenerator: [
    {
      name: SETTINGS,
      literals: [
        'SPIDER=spider.ts',
        'SHOAL_LOG_LEVEL=info',
        // Inside the cluster the dashboard is called by the name of its Service, which it cannot know.
        `SHOAL_ALLOW_HOST=${nameOf('dashboard')}`,
        ...['QUEUE', 'STORE', 'TOKEN'].map((name) => `SHOAL_${name}_FILE=${SECRETS_FOLDER}/${name.toLowerCase()}`),
      ],
    },
  ],
}
