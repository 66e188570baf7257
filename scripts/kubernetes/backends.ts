import type { StatefulSet } from 'kubernetes-types/apps/v1.d.ts'
import type { Container, PodSpec, Service } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import { BACKEND_SECRETS, FLEET, labelsOf, nameOf } from './names.js'
import { CONTAINER_SECURITY, podBasics } from './pods.js'

/** The user of both official images. */
const USER_OF_IMAGES = 999
const FOLDER = '/run/secrets/backends'

type Backend = 'redis' | 'postgres'
const PORTS: Record<Backend, number> = { redis: 6379, postgres: 5432 }

/**
 * Redis without a password replies NOAUTH, which also proves that it answers; while it loads its file it says LOADING. Postgres over TCP: while the database is
 * being created, a server without TCP is running, and a check of its socket would be too early.
 */
const READY: Record<Backend, string[]> = {
  redis: ['sh', '-c', 'redis-cli ping | grep -q -e PONG -e NOAUTH'],
  postgres: ['pg_isready', '-h', '127.0.0.1', '-U', 'shoal', '-d', 'shoal'],
}

/** The data of a crawl must survive a restart: every write goes to the append-only file, and a full memory refuses instead of dropping keys. */
const REDIS: Pick<Container, 'image' | 'args' | 'volumeMounts' | 'resources'> = {
  image: 'redis:7.4-bookworm',
  args: [
    'redis-server',
    `${FOLDER}/redis.conf`,
    '--dir',
    '/data',
    '--appendonly',
    'yes',
    '--maxmemory-policy',
    'noeviction',
  ],
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '2Gi' } },
}

const POSTGRES: Pick<Container, 'image' | 'env' | 'volumeMounts' | 'resources'> = {
  image: 'postgres:17-bookworm',
  env: [
    { name: 'POSTGRES_USER', value: 'shoal' },
    { name: 'POSTGRES_DB', value: 'shoal' },
    { name: 'POSTGRES_PASSWORD_FILE', value: `${FOLDER}/postgres_password` },
    // A folder below the mount: initdb refuses one that contains lost+found.
    { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
  ],
  volumeMounts: [
    { name: 'data', mountPath: '/var/lib/postgresql/data' },
    { name: 'run', mountPath: '/var/run/postgresql' },
    { name: 'tmp', mountPath: '/tmp' },
  ],
  resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { memory: '2Gi' } },
}

const EMPTY = ['run', 'tmp'].map((name) => ({ name, emptyDir: {} }))

function statefulSet(part: Backend, own: Partial<Container>, storage: string, more: PodSpec['volumes']): StatefulSet {
  const secrets = { name: 'secrets', secret: { secretName: BACKEND_SECRETS, defaultMode: 0o440 } }
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: nameOf(part), labels: labelsOf(part) },
    spec: {
      serviceName: part,
      replicas: 1,
      selector: { matchLabels: labelsOf(part) },
      template: {
        metadata: { labels: labelsOf(part) },
        spec: {
          ...podBasics(USER_OF_IMAGES),
          terminationGracePeriodSeconds: 60,
          containers: [
            {
              name: part,
              ...own,
              ports: [{ name: part, containerPort: PORTS[part], protocol: 'TCP' }],
              readinessProbe: { exec: { command: READY[part] }, periodSeconds: 5, timeoutSeconds: 3 },
              securityContext: CONTAINER_SECURITY,
              volumeMounts: [...(own.volumeMounts ?? []), { name: 'secrets', mountPath: FOLDER, readOnly: true }],
            },
          ],
          volumes: [secrets, ...(more ?? [])],
        },
      },
      volumeClaimTemplates: [
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
        },
      ],
    },
  }
}

function service(part: Backend): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: part, labels: labelsOf(part) },
    spec: { clusterIP: 'None', selector: labelsOf(part), ports: [{ name: part, port: PORTS[part], protocol: 'TCP' }] },
  }
}

/** Only pods of the fleet reach the backends; the backends reach nobody. */
function policy(part: Backend): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: nameOf(part), labels: labelsOf(part) },
    spec: {
      podSelector: { matchLabels: labelsOf(part) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: { matchLabels: FLEET } }], ports: [{ port: PORTS[part] }] }],
    },
  }
}

export const redis = [statefulSet('redis', REDIS, '10Gi', []), service('redis'), policy('redis')]
export const postgres = [statefulSet('postgres', POSTGRES, '20Gi', EMPTY), service('postgres'), policy('postgres')]
