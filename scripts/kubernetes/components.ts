import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { Namespace } from 'kubernetes-types/core/v1.d.ts'
import type { Ingress } from 'kubernetes-types/networking/v1.d.ts'
import { SPIDER } from './base.js'
import { graceOf } from './grace.js'
import type { Component, Kustomization, NameReferences } from './kustomization.js'
import {
  BACKEND_SECRETS,
  DASHBOARD_PORT,
  labelsOf,
  METRICS_PORT,
  nameOf,
  type Part,
  SECRETS,
  SETTINGS,
  SPIDERS_FOLDER,
} from './names.js'
import type { Patch } from './patch.js'
import { METRICS_ADDRESS, shoalDeployment } from './pods.js'

const COMPONENT = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component' } as const
const KUSTOMIZATION = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' } as const

/** A second replica would be a stand-by; Kubernetes starts a lost pod again anyway, and a run that was missed meanwhile is started late, not skipped. */
export const scheduler: Deployment = shoalDeployment({
  part: 'scheduler',
  replicas: 1,
  args: ['schedule', 'run', SPIDER, '--metrics', METRICS_ADDRESS],
  ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
  probed: METRICS_PORT,
  resources: { requests: { cpu: '50m', memory: '192Mi' }, limits: { memory: '512Mi' } },
  graceSeconds: graceOf(0).pod,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
})

const PUBLIC_HOST = 'shoal.example'

/** The dashboard shows live figures by server-sent events: a proxy must not buffer them, and not close a quiet connection after a minute. */
export const ingress: Ingress = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: {
    name: nameOf('dashboard'),
    labels: labelsOf('dashboard'),
    annotations: {
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    },
  },
  spec: {
    ingressClassName: 'nginx',
    tls: [{ hosts: [PUBLIC_HOST], secretName: 'shoal-dashboard-tls' }],
    rules: [
      {
        host: PUBLIC_HOST,
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: nameOf('dashboard'), port: { number: DASHBOARD_PORT } } },
            },
          ],
        },
      },
    ],
  },
}

export const ingressComponent: Component = {
  ...COMPONENT,
  resources: ['ingress.yaml'],
  configMapGenerator: [{ name: SETTINGS, behavior: 'merge', literals: [`SHOAL_PUBLIC_URL=https://${PUBLIC_HOST}`] }],
}

const SPIDER_FILES = 'shoal-spider'

/** The spider as a file of the ConfigMap `shoal-spider`, which may have 1 MiB. A larger project belongs in an image. */
export function spiderMount(part: Part): Patch {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: nameOf(part) },
    spec: {
      template: {
        spec: {
          containers: [{ name: part, volumeMounts: [{ name: 'spiders', mountPath: SPIDERS_FOLDER, readOnly: true }] }],
          volumes: [{ name: 'spiders', configMap: { name: SPIDER_FILES } }],
        },
      },
    },
  }
}

export const spiderComponent: Component = {
  ...COMPONENT,
  patches: [{ path: 'worker.yaml' }, { path: 'dashboard.yaml' }],
}

export const hpaComponent: Component = {
  ...COMPONENT,
  resources: ['autoscaler.yaml'],
  patches: [{ path: 'replicas.yaml' }],
}

export const kedaComponent: Component = {
  ...COMPONENT,
  resources: ['scaled-object.yaml'],
  patches: [{ path: 'replicas.yaml' }],
  configurations: ['name-references.yaml'],
}

/** kustomize knows where its own kinds name a Secret, not where KEDA's do. */
export const kedaReferences: NameReferences = {
  nameReference: [
    { kind: 'Secret', fieldSpecs: [{ path: 'spec/secretTargetRef/name', kind: 'TriggerAuthentication' }] },
  ],
}

export const spotComponent: Component = { ...COMPONENT, patches: [{ path: 'worker.yaml' }] }
export const schedulerComponent: Component = { ...COMPONENT, resources: ['scheduler.yaml'] }
export const backendsComponent: Component = { ...COMPONENT, resources: ['redis.yaml', 'postgres.yaml'] }

/** Pods that the Pod Security Standard `restricted` does not allow are refused. */
export const namespace: Namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shoal', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
}

const SECRET_FILES = { name: SECRETS, files: ['secrets/queue', 'secrets/store', 'secrets/token'] }

export const tryOverlay: Kustomization = {
  ...KUSTOMIZATION,
  namespace: 'shoal',
  resources: ['namespace.yaml', '../../base'],
  components: ['../../components/redis-postgres', '../../components/spider-configmap'],
  configMapGenerator: [{ name: SPIDER_FILES, files: ['spider.ts'] }],
  secretGenerator: [
    SECRET_FILES,
    { name: BACKEND_SECRETS, files: ['secrets/redis.conf', 'secrets/postgres_password'] },
  ],
}

export const productionOverlay: Kustomization = {
  ...KUSTOMIZATION,
  namespace: 'shoal',
  resources: ['namespace.yaml', '../../base'],
  components: ['scheduler', 'keda', 'spot-2m', 'ingress'].map((name) => `../../components/${name}`),
  configMapGenerator: [{ name: SETTINGS, behavior: 'merge', literals: ['SPIDER=books.ts'] }],
  secretGenerator: [SECRET_FILES],
  images: [{ name: 'shoal', newName: 'registry.example/my-spiders', newTag: '2026-03-01' }],
}
