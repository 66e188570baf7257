import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'

/**
 * What a new project writes for `shoal` in its package.json, so that `npm install` finds the Shoal that runs now: what the project that installed
 * it wrote, or, from a clone or a global installation, its folder. Never a version of a registry that nobody has installed from: the name there may be
 * anybody's.
 */
export function shoalSpec(root: string, target: string): string {
  const installed = installedSpec(root)
  if (installed === null) return `file:${pathFrom(target, root)}`
  const path = filePath(installed.spec)
  return path === null ? installed.spec : `file:${pathFrom(target, resolve(installed.folder, path))}`
}

/** Of the project whose node_modules holds this copy; null: there is none. */
function installedSpec(root: string): { readonly spec: string; readonly folder: string } | null {
  if (!root.split(/[/\\]/).includes('node_modules')) return null
  for (let folder = dirname(root); folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(folder) === 'node_modules') continue
    const spec = dependencyIn(readManifest(join(folder, 'package.json')), 'shoal')
    if (spec !== null) return { spec, folder }
  }
  return null
}

/** npm writes `file:../shoal-0.1.0.tgz`; a person may leave out the `file:`. */
function filePath(spec: string): string | null {
  if (spec.startsWith('file:')) return spec.slice('file:'.length)
  return /^(\.{0,2}[/\\]|[a-z]:[/\\])/i.test(spec) ? spec : null
}

/** As npm writes it: relative, with slashes. */
function pathFrom(folder: string, path: string): string {
  const there = relative(folder, path).replaceAll('\\', '/')
  return isAbsolute(there) || there.startsWith('.') ? there : `./${there}`
}

export interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Null: there is none, or it cannot be read. */
export function readManifest(file: string): Manifest | null {
  try {
    const manifest: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
    return typeof manifest === 'object' ? manifest : null
  } catch {
    return null
  }
}

export function dependencyIn(manifest: Manifest | null, name: string): string | null {
  return manifest?.dependencies?.[name] ?? manifest?.devDependencies?.[name] ?? null
}
