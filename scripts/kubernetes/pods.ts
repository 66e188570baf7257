import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type {
  Container,
  PodSecurityContext,
  PodSpec,
  Probe,
  SecurityContext,
  Volume,
  VolumeMount,
} from 'kubernetes-types/core/v1.d.ts'
import {
  IMAGE,
  labelsOf,
  METRICS_PORT,
  nameOf,
  type Part,
  SECRETS,
  SECRETS_FOLDER,
  SERVICE_ACCOUNT,
  SETTINGS,
  USER,
} from './names.js'

export const METRICS_ADDRESS = `0.0.0.0:${METRICS_PORT}`

/** The rules that the Pod Security Standard `restricted` asks for, and a user that no file of the node belongs to. */
function podSecurity(user: number): PodSecurityContext {
  return {
    runAsNonRoot: true,
    runAsUser: user,
    runAsGroup: user,
    fsGroup: user,
    seccompProfile: { type: 'RuntimeDefault' },
  }
}

export const CONTAINER_SECURITY: SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

const MOUNTS: VolumeMount[] = [
  { name: 'secrets', mountPath: SECRETS_FOLDER, readOnly: true },
  { name: 'data', mountPath: '/data' },
  { name: 'tmp', mountPath: '/tmp' },
]

/** 0440: the process reads its secrets through its group (fsGroup), other users of the container do not. */
const VOLUMES: Volume[] = [
  { name: 'secrets', secret: { secretName: SECRETS, defaultMode: 0o440 } },
  { name: 'data', emptyDir: { sizeLimit: '2Gi' } },
  { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
]

/**
 * Ready: the queue and the store answer. It decides how a rollout proceeds and whether a Service sends requests; nothing restarts because of it.
 *
 * There is no liveness and no startup probe. A restart repairs neither an unreachable Redis nor a stalled crawl, and it loses the pages in flight;
 * a handler that blocks its thread is terminated by its supervisor, and a process that cannot work ends with an exit code.
 */
function readiness(port: number): Probe {
  return { httpGet: { path: '/readyz', port }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 }
}

interface ShoalPod {
  readonly part: Part
  readonly replicas: number
  readonly args: readonly string[]
  readonly env?: Container['env']
  readonly ports: Container['ports']
  readonly probed: number
  readonly resources: Container['resources']
  readonly graceSeconds: number
  readonly strategy: NonNullable<NonNullable<Deployment['spec']>['strategy']>
  readonly more?: Partial<PodSpec>
}

/** A Deployment of one `shoal` command. Settings come from the ConfigMap, addresses with passwords from files of the Secret. */
/** What every pod of ours has, whatever runs in it as `user`. */
export function podBasics(user: number) {
  return {
    serviceAccountName: SERVICE_ACCOUNT,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity(user),
  }
}

export function shoalDeployment({ part, ...pod }: ShoalPod): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: nameOf(part), labels: labelsOf(part) },
    spec: {
      replicas: pod.replicas,
      revisionHistoryLimit: 5,
      strategy: pod.strategy,
      selector: { matchLabels: labelsOf(part) },
      template: {
        metadata: { labels: labelsOf(part) },
        spec: {
          ...podBasics(USER),
          terminationGracePeriodSeconds: pod.graceSeconds,
          ...pod.more,
          containers: [
            {
              name: part,
              image: IMAGE,
              args: [...pod.args],
              ...(pod.env === undefined ? {} : { env: pod.env }),
              envFrom: [{ configMapRef: { name: SETTINGS } }],
              ports: pod.ports,
              readinessProbe: readiness(pod.probed),
              resources: pod.resources,
              securityContext: CONTAINER_SECURITY,
              volumeMounts: MOUNTS,
            },
          ],
          volumes: VOLUMES,
        },
      },
    },
  }
}
