import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { copyWithSecrets, OVERLAYS } from './copied-manifests.js'
import { kustomize, type Manifest } from './kustomize.js'

/** Components need kustomize 3.7; kubectl has a newer one since 1.21. */
const client = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' })
const isNewEnough = /Kustomize Version: v[5-9]/.test(client.stdout ?? '')

describe.runIf(isNewEnough)('the manifests, built by kubectl', () => {
  let copy: string

  beforeAll(() => {
    copy = copyWithSecrets()
  })

  afterAll(() => rmSync(copy, { recursive: true, force: true }))

  it.each(OVERLAYS)('are the same as ours: %s', (overlay) => {
    const folder = join(copy, 'overlays', overlay)
    const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    const theirs = parseAllDocuments(stdout.replaceAll(HASHED, '$1')).map((document) => document.toJS() as Manifest)
    expect(byName(kustomize(folder))).toEqual(byName(theirs))
  })
})

/** kustomize ends the names of generated objects with a hash of ten characters. */
const HASHED = /(shoal-(?:settings|secrets|spider|backends))-[a-z0-9]{10}/g

function byName(objects: readonly Manifest[]): Record<string, Manifest> {
  return Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))
}
