/** The part of a kustomization.yaml that Shoal uses. An object of this type cannot have a field that kustomize would ignore. */
export interface Kustomization {
  readonly apiVersion: 'kustomize.config.k8s.io/v1beta1'
  readonly kind: 'Kustomization'
  readonly namespace?: string
  readonly resources?: readonly string[]
  readonly components?: readonly string[]
  readonly configMapGenerator?: readonly Generator[]
  readonly secretGenerator?: readonly Generator[]
  readonly patches?: readonly PatchEntry[]
  readonly images?: readonly ImageEntry[]
  readonly configurations?: readonly string[]
}

/** A part that is combined with others: it changes what the kustomization that lists it has collected so far. */
export interface Component extends Omit<Kustomization, 'apiVersion' | 'kind'> {
  readonly apiVersion: 'kustomize.config.k8s.io/v1alpha1'
  readonly kind: 'Component'
}

/** Creates a ConfigMap or Secret whose name ends in a hash of its content, so that a change restarts the pods. */
export interface Generator {
  readonly name: string
  readonly behavior?: 'create' | 'merge' | 'replace'
  readonly literals?: readonly string[]
  readonly files?: readonly string[]
}

interface PatchEntry {
  readonly path: string
  readonly target?: { readonly kind: string; readonly name: string }
}

interface ImageEntry {
  readonly name: string
  readonly newName?: string
  readonly newTag?: string
}

export interface NameReferences {
  readonly nameReference: readonly {
    readonly kind: string
    readonly fieldSpecs: readonly { readonly path: string; readonly kind: string }[]
  }[]
}
