import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Component, Generator, Kustomization } from '../../scripts/kubernetes/kustomization.js'

/** An object of Kubernetes, whatever its kind. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; namespace?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/**
 * What `kubectl kustomize` does, for the part of it that deploy/kubernetes uses: kubectl need not be installed, and Debian's is too old for components. Where
 * a kubectl is new enough, a test compares the two. One difference: names of generated objects get no hash here.
 */
export function kustomize(folder: string): Manifest[] {
  return collect(folder, [])
}

function collect(folder: string, soFar: Manifest[]): Manifest[] {
  const [kustomization] = readManifests(join(folder, 'kustomization.yaml')) as unknown as (Kustomization | Component)[]
  if (kustomization === undefined) throw new Error(`${folder}: kustomization.yaml is empty`)
  let objects = [...soFar]
  for (const path of kustomization.resources ?? []) {
    const at = join(folder, path)
    objects.push(...(statSync(at).isDirectory() ? collect(at, []) : readManifests(at)))
  }
  for (const generator of kustomization.configMapGenerator ?? [])
    objects = generate(objects, 'ConfigMap', generator, folder)
  for (const generator of kustomization.secretGenerator ?? []) objects = generate(objects, 'Secret', generator, folder)
  for (const path of kustomization.components ?? []) objects = collect(join(folder, path), objects)
  for (const { path } of kustomization.patches ?? [])
    for (const patch of readManifests(join(folder, path))) objects = patched(objects, patch)
  for (const { name, newName = name, newTag } of kustomization.images ?? [])
    objects = objects.map((object) => withImage(object, name, newTag === undefined ? newName : `${newName}:${newTag}`))
  if (kustomization.namespace !== undefined) objects = objects.map((o) => inNamespace(o, kustomization.namespace ?? ''))
  return objects
}

function readManifests(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    if (document.errors[0] !== undefined) throw new Error(`${file}: ${document.errors[0].message}`)
    return document.toJS() as Manifest
  })
}

function generate(objects: Manifest[], kind: 'ConfigMap' | 'Secret', generator: Generator, folder: string): Manifest[] {
  const { name, behavior = 'create' } = generator
  const data: Record<string, string> = {}
  for (const literal of generator.literals ?? []) {
    const at = literal.indexOf('=')
    data[literal.slice(0, at)] = literal.slice(at + 1)
  }
  for (const file of generator.files ?? []) data[basename(file)] = readFileSync(join(folder, file), 'utf8')
  const stored = kind === 'ConfigMap' ? data : Object.fromEntries(Object.entries(data).map(([k, v]) => [k, base64(v)]))
  const before = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if ((before === undefined) !== (behavior === 'create'))
    throw new Error(`${folder}: ${kind} ${name} cannot ${behavior}: it ${before ? 'exists' : 'does not exist'}`)
  if (before === undefined) {
    const type = kind === 'Secret' ? { type: 'Opaque' } : {}
    return [...objects, { apiVersion: 'v1', kind, metadata: { name }, data: stored, ...type }]
  }
  const kept = behavior === 'merge' ? (before.data as Record<string, string>) : {}
  return objects.map((object) => (object === before ? { ...before, data: { ...kept, ...stored } } : object))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function patched(objects: Manifest[], patch: Manifest): Manifest[] {
  const target = objects.find(({ kind, metadata }) => kind === patch.kind && metadata.name === patch.metadata.name)
  if (target === undefined) throw new Error(`a patch is for ${patch.kind} ${patch.metadata.name}, which does not exist`)
  const merged = merge(target as unknown as Json, patch as unknown as Json, '') as unknown as Manifest
  return objects.map((object) => (object === target ? merged : object))
}

/** The lists that Kubernetes merges by a key; any other list is replaced. */
const LIST_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
}

function merge(before: Json | undefined, patch: Json, field: string): Json {
  if (Array.isArray(patch)) return mergeLists(before, patch, LIST_KEYS[field])
  if (patch === null || typeof patch !== 'object') return patch
  const result: { [key: string]: Json } = isObject(before) ? { ...before } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merge(result[key], value, key)
  }
  return result
}

/** New entries come first, as kustomize does it. */
function mergeLists(before: Json | undefined, patch: Json[], key: string | undefined): Json[] {
  if (key === undefined || !Array.isArray(before)) return patch
  const idOf = (entry: Json) => (isObject(entry) ? entry[key] : undefined)
  const added = patch.filter((entry) => !before.some((old) => idOf(old) === idOf(entry)))
  const kept = before.map((old) => {
    const change = patch.find((entry) => idOf(entry) === idOf(old))
    return change === undefined ? old : merge(old, change, '')
  })
  return [...added, ...kept]
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withImage(object: Manifest, name: string, image: string): Manifest {
  return JSON.parse(JSON.stringify(object), (key, value) => (key === 'image' && value === name ? image : value))
}

const CLUSTER_WIDE = new Set(['Namespace'])

function inNamespace(object: Manifest, namespace: string): Manifest {
  if (CLUSTER_WIDE.has(object.kind)) return object
  return { ...object, metadata: { ...object.metadata, namespace } }
}
