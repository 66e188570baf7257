import type { PreferredSchedulingTerm, Toleration } from 'kubernetes-types/core/v1.d.ts'
import { type Grace, graceSetting } from './grace.js'
import { nameOf } from './names.js'
import type { Patch } from './patch.js'

/** How the large providers mark their spot nodes: the taint that keeps others away, and the label. */
const TAINTS = ['cloud.google.com/gke-spot=true', 'kubernetes.azure.com/scalesetpriority=spot']
const LABELS = [
  'cloud.google.com/gke-spot=true',
  'kubernetes.azure.com/scalesetpriority=spot',
  'eks.amazonaws.com/capacityType=SPOT',
  'karpenter.sh/capacity-type=spot',
]

/** Preferred, not required: when no spot node is to be had, the crawl continues on others. */
export function onSpotNodes(grace: Grace): Patch {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: nameOf('worker') },
    spec: {
      template: {
        spec: {
          terminationGracePeriodSeconds: grace.pod,
          tolerations: TAINTS.map(split).map(
            ([key, value]): Toleration => ({ key, operator: 'Equal', value, effect: 'NoSchedule' }),
          ),
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: LABELS.map(split).map(
                ([key, value]): PreferredSchedulingTerm => ({
                  weight: 100,
                  preference: { matchExpressions: [{ key, operator: 'In', values: [value] }] },
                }),
              ),
            },
          },
          containers: [{ name: 'worker', env: graceSetting(grace) }],
        },
      },
    },
  }
}

function split(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=')
  return [pair.slice(0, at), pair.slice(at + 1)]
}
