import type { DeploymentSpec } from 'kubernetes-types/apps/v1.d.ts'
import type { Container, PodSpec } from 'kubernetes-types/core/v1.d.ts'

/** A change of a Deployment: only what is different. Lists of containers, variables, volumes and mounts are merged by name. */
export interface Patch {
  readonly apiVersion: 'apps/v1'
  readonly kind: 'Deployment'
  readonly metadata: { readonly name: string }
  readonly spec: Partial<Omit<DeploymentSpec, 'replicas' | 'template'>> & {
    /** Null removes the field. */
    readonly replicas?: number | null
    readonly template?: {
      readonly spec: Partial<Omit<PodSpec, 'containers'>> & { readonly containers?: NamedContainer[] }
    }
  }
}

type NamedContainer = Pick<Container, 'name'> & Partial<Container>
