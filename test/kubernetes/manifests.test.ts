import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifestFiles } from '../../scripts/kubernetes/files.js'
import { buildProgram } from '../../src/cli/program.js'
import { loadConfig } from '../../src/config.js'
import { copyWithSecrets, FOLDER, OVERLAYS, SECRETS } from './copied-manifests.js'
import { kustomize, type Manifest } from './kustomize.js'

/** Handwritten, for people to replace. */
const NOT_GENERATED = new Set(['overlays/try/spider.ts'])
let copy: string

beforeAll(() => {
  copy = copyWithSecrets()
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

describe('the manifests in deploy/kubernetes', () => {
  it('are what the objects in scripts/kubernetes say: `npm run manifests` writes them', () => {
    const files = manifestFiles()
    const there = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('secrets'))
      .map((entry) => relative(FOLDER, join(entry.parentPath, entry.name)))
    expect(there.filter((path) => !NOT_GENERATED.has(path)).sort()).toEqual([...files.keys()].sort())
    for (const [path, text] of files) expect(readFileSync(join(FOLDER, path), 'utf8'), path).toBe(text)
  })

  it('give a pod 15 s more than its pages, also on spot nodes', () => {
    const expected = { base: [30, 45], 'spot-30s': [10, 25], 'spot-2m': [90, 105] }
    const found = Object.keys(expected).map((name) => [name, graceIn(withComponents(name === 'base' ? [] : [name]))])
    expect(Object.fromEntries(found)).toEqual(expected)
  })

  it('build in every overlay', () => {
    expect(OVERLAYS.map((overlay) => kustomize(join(copy, 'overlays', overlay)).length)).toEqual([17, 13])
  })

  it('have no count of workers when an autoscaler decides it', () => {
    expect(workerOf(withComponents([])).spec?.replicas).toBe(2)
    for (const name of ['hpa', 'keda']) expect(workerOf(withComponents([name])).spec).not.toHaveProperty('replicas')
  })

  it('refuse a patch for an object that does not exist, and a setting merged into nothing', () => {
    expect(() => withComponents(['hpa', 'missing'])).toThrow(/missing/)
    const folder = join(copy, 'overlays', 'alone')
    mkdirSync(folder)
    writeFileSync(join(folder, 'kustomization.yaml'), 'components: [../../components/ingress]')
    expect(() => kustomize(folder)).toThrow(/shoal-settings cannot merge: it does not exist/)
    writeFileSync(join(folder, 'kustomization.yaml'), 'components: [../../components/spot-2m]')
    expect(() => kustomize(folder)).toThrow(/Deployment shoal-worker, which does not exist/)
  })

  it('start commands that the command line has, with settings that the configuration has', () => {
    const everything = withComponents(['scheduler', 'ingress', 'spot-30s', 'keda'])
    const settings = everything.find(({ kind }) => kind === 'ConfigMap')?.data as Record<string, string>
    const { SPIDER, ...shoal } = settings
    const deployments = everything.filter(({ kind }) => kind === 'Deployment') as unknown as Deployment[]
    expect(deployments).toHaveLength(3)
    for (const deployment of deployments) {
      const [container] = deployment.spec?.template.spec?.containers ?? []
      const args = (container?.args ?? []).map((arg) => arg.replaceAll('$(SPIDER)', SPIDER ?? ''))
      expect(unknownOptions(args), args.join(' ')).toEqual([])
      const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))
      expect(loadConfig({ flags: {}, env: { ...withFilesRead(shoal), ...env } })).toMatchObject({
        publicUrl: 'https://shoal.example',
        queue: SECRETS.queue,
        store: SECRETS.store,
        token: SECRETS.token,
      })
    }
  })
})

function withComponents(names: readonly string[]): Manifest[] {
  const folder = mkdtempSync(join(copy, 'overlays', 'with-'))
  const components = names.map((name) => `../../components/${name}`)
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify({ resources: ['../../base'], components }))
  return kustomize(folder)
}

function workerOf(objects: readonly Manifest[]): Deployment {
  const found = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'shoal-worker')
  if (found === undefined) throw new Error('there is no Deployment shoal-worker')
  return found as unknown as Deployment
}

function graceIn(objects: readonly Manifest[]): [pages: number, pod: number | undefined] {
  const pod = workerOf(objects).spec?.template.spec
  const setting = pod?.containers[0]?.env?.find(({ name }) => name === 'SHOAL_GRACE')?.value ?? ''
  return [Number.parseInt(setting, 10), pod?.terminationGracePeriodSeconds]
}

/** Each `SHOAL_…_FILE` with the content of the Secret's file of that name. */
function withFilesRead(settings: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const files: Readonly<Record<string, string>> = SECRETS
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) =>
      name.endsWith('_FILE')
        ? [name.slice(0, -'_FILE'.length), files[value.slice('/run/secrets/shoal/'.length)]]
        : [name, value],
    ),
  )
}

const root = await buildProgram()

/** Words that are not a command, and options that the command does not have. */
function unknownOptions(args: readonly string[]): string[] {
  let command = root
  let rest = [...args]
  for (;;) {
    const next = command.commands.find((sub) => sub.name() === rest[0])
    if (next === undefined) break
    command = next
    rest = rest.slice(1)
  }
  if (command === root) return [...args]
  const known = new Set([...root.options, ...command.options].map(({ long }) => long))
  return rest.filter((arg) => arg.startsWith('--') && !known.has(arg))
}
