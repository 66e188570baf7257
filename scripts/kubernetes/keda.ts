import type { ObjectMeta } from 'kubernetes-types/meta/v1.d.ts'

/** The fields of KEDA's own kinds (keda.sh/v1alpha1) that Shoal uses. */
export interface ScaledObject {
  readonly apiVersion: 'keda.sh/v1alpha1'
  readonly kind: 'ScaledObject'
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string }
    /** Seconds between two readings of the trigger. */
    readonly pollingInterval: number
    /** Seconds without work before the last pod goes. */
    readonly cooldownPeriod: number
    readonly minReplicaCount: number
    readonly maxReplicaCount: number
    readonly advanced: {
      readonly horizontalPodAutoscalerConfig: {
        readonly behavior: import('kubernetes-types/autoscaling/v2.d.ts').HorizontalPodAutoscalerBehavior
      }
    }
    readonly triggers: readonly MetricsApiTrigger[]
  }
}

interface MetricsApiTrigger {
  readonly type: 'metrics-api'
  readonly metricType: 'AverageValue'
  readonly metadata: {
    readonly url: string
    /** Path of the number in the JSON reply. */
    readonly valueLocation: string
    readonly targetValue: string
    readonly authMode: 'bearer'
  }
  readonly authenticationRef: { readonly name: string }
}

export interface TriggerAuthentication {
  readonly apiVersion: 'keda.sh/v1alpha1'
  readonly kind: 'TriggerAuthentication'
  readonly metadata: ObjectMeta
  readonly spec: {
    readonly secretTargetRef: readonly { readonly parameter: 'token'; readonly name: string; readonly key: string }[]
  }
}
