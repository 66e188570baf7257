import type { Manifest } from './kustomize.js'

/**
 * The control plane that can be built here is 1.20, from Debian; the manifests are for 1.25 and later. These versions of kinds came in between. The fields that
 * Shoal uses are the same in both.
 */
const IN_1_20: Readonly<Record<string, string>> = {
  'policy/v1': 'policy/v1beta1',
  'autoscaling/v2': 'autoscaling/v2beta2',
}

/** KEDA's kinds are unknown to a server without KEDA. */
export function isForeign({ apiVersion }: Manifest): boolean {
  return apiVersion.startsWith('keda.sh/')
}

export function forServer120(object: Manifest): Manifest {
  return { ...object, apiVersion: IN_1_20[object.apiVersion] ?? object.apiVersion }
}
