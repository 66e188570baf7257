import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior } from 'kubernetes-types/autoscaling/v2.d.ts'
import type { ScaledObject, TriggerAuthentication } from './keda.js'
import { labelsOf, METRICS_PORT, nameOf, SECRETS } from './names.js'
import type { Patch } from './patch.js'

const MOST_WORKERS = 20

/**
 * Up at once: the figure counts only workers that would be busy. Down after it was lower for a minute, because a worker that is needed again costs a start.
 * A worker that goes finishes its pages, so any number may go together.
 */
const BEHAVIOR: HorizontalPodAutoscalerBehavior = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    policies: [
      { type: 'Percent', value: 100, periodSeconds: 15 },
      { type: 'Pods', value: 4, periodSeconds: 15 },
    ],
    selectPolicy: 'Max',
  },
  scaleDown: { stabilizationWindowSeconds: 60, policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
}

/** The gauge is already a number of workers, so the target is one per pod. */
export const autoscaler: HorizontalPodAutoscaler = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: nameOf('worker'), labels: labelsOf('worker') },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: nameOf('worker') },
    minReplicas: 1,
    maxReplicas: MOST_WORKERS,
    metrics: [
      {
        type: 'External',
        external: {
          metric: { name: 'shoal_workers_useful' },
          target: { type: 'AverageValue', averageValue: '1' },
        },
      },
    ],
    behavior: BEHAVIOR,
  },
}

const TOKEN = 'shoal-token'

export const scaledObject: ScaledObject = {
  apiVersion: 'keda.sh/v1alpha1',
  kind: 'ScaledObject',
  metadata: { name: nameOf('worker'), labels: labelsOf('worker') },
  spec: {
    scaleTargetRef: { name: nameOf('worker') },
    pollingInterval: 15,
    cooldownPeriod: 60,
    minReplicaCount: 0,
    maxReplicaCount: MOST_WORKERS,
    advanced: { horizontalPodAutoscalerConfig: { behavior: BEHAVIOR } },
    triggers: [
      {
        type: 'metrics-api',
        metricType: 'AverageValue',
        metadata: {
          url: `http://${nameOf('dashboard')}:${METRICS_PORT}/scale`,
          valueLocation: 'workers',
          targetValue: '1',
          authMode: 'bearer',
        },
        authenticationRef: { name: TOKEN },
      },
    ],
  },
}

export const triggerAuthentication: TriggerAuthentication = {
  apiVersion: 'keda.sh/v1alpha1',
  kind: 'TriggerAuthentication',
  metadata: { name: TOKEN, labels: labelsOf('worker') },
  spec: { secretTargetRef: [{ parameter: 'token', name: SECRETS, key: 'token' }] },
}

/** Without a count, an apply leaves the number of pods to the autoscaler. */
export const withoutReplicas: Patch = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: nameOf('worker') },
  spec: { replicas: null },
}
