import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { insideWorkingFolder, isOwnFile } from '../error-place.js'
import { nearest } from '../nearest.js'
import type { ProjectPaths } from './project-paths.js'

export interface MissingModule {
  /** As it is written in the import. */
  readonly name: string
  /** The file that imports it. */
  readonly importer: string
}

interface Explained {
  readonly problem: string
  readonly hint: string | undefined
}

/** What is missing, where it was looked for, and what to do about it. */
export function explained(missing: MissingModule, project: ProjectPaths | null): Explained {
  const { name, importer } = missing
  if (/^\.{0,2}\//.test(name)) return missingFile(missing)
  if (/^https?:/.test(name)) return { problem: `cannot import the URL '${name}'`, hint: INSTALL_OR_COPY }
  if (name.startsWith('node:')) return { problem: `Node has no module '${name}'`, hint: undefined }
  if (!isOwnFile(importer)) return missingDependency(missing)
  if (ALIAS.test(name) || project?.patterns.some((pattern) => matches(pattern, name)))
    return missingAlias(name, project)
  return missingPackage(missing, project)
}

const INSTALL_OR_COPY = 'Install the package with npm, or save the file next to the spider.'

/** Endings that an import may leave out, in the order in which they are tried. */
const ENDINGS = ['.ts', '.js', '.mjs', '.cjs', '.mts', '.cts', '.tsx', '.json']

function missingFile({ name, importer }: MissingModule): Explained {
  const target = resolve(dirname(importer), name)
  const guess = nearFile(target)
  const guessed = guess === null ? '' : `, did you mean '${join(dirname(name), guess).replace(/^(?![./])/, './')}'?`
  return { problem: `cannot find '${name}' (${lookedFor(target)})${guessed}`, hint: undefined }
}

function lookedFor(target: string): string {
  if (!existsSync(dirname(target))) return `there is no folder ${shown(dirname(target))}`
  if (existsSync(target)) return `${shown(target)} is a folder without an index.ts or index.js`
  const ending = endingOf(target)
  // `./prices.js` is how TypeScript writes an import of prices.ts.
  if (ENDINGS.includes(ending))
    return `looked for ${shown(target)}${ending.includes('j') ? ` and ${basename(target).replace(/js$/, 'ts')}` : ''}`
  return `looked for ${shown(target)}, ${ENDINGS.slice(0, 3).join(', ')} …, ${shown(target)}/index.ts`
}

/** A file in the same folder with a similar name. */
function nearFile(target: string): string | null {
  try {
    const names = readdirSync(dirname(target)).map((file) => (ENDINGS.includes(endingOf(file)) ? bare(file) : file))
    const wanted = bare(basename(target))
    return nearest(
      wanted,
      names.filter((name) => name !== wanted),
    )
  } catch {
    return null
  }
}

function endingOf(file: string): string {
  const dot = file.lastIndexOf('.')
  return dot <= 0 ? '' : file.slice(dot)
}

function bare(file: string): string {
  return ENDINGS.includes(endingOf(file)) ? file.slice(0, -endingOf(file).length) : file
}

/** What people use for paths of their own project. No package can have these names. */
const ALIAS = /^(?:@\/|~|#)/

/** The pattern `*` is for everything, and says nothing about this name. */
function matches(pattern: string, name: string): boolean {
  const star = pattern.indexOf('*')
  return star === -1 ? pattern === name : star > 0 && name.startsWith(pattern.slice(0, star))
}

function missingAlias(name: string, project: ProjectPaths | null): Explained {
  if (project === null)
    return {
      problem: `cannot find '${name}': there is no tsconfig.json with paths above the spider`,
      hint: `Add one: { "compilerOptions": { "paths": { "${name.replace(/\/.*/, '')}/*": ["./src/*"] } } }`,
    }
  const config = shown(project.file)
  if (project.fault !== null)
    return { problem: `cannot find '${name}': ${config} cannot be read: ${project.fault}`, hint: `Fix ${config}.` }
  const candidates = project.candidates(name)
  if (candidates.length > 0)
    return {
      problem: `cannot find '${name}' (${config} leads to ${candidates.map(shown).join(', ')}, and there is no such file)`,
      hint: `Fix the import, or the paths in ${config}.`,
    }
  const { patterns } = project
  const listed = patterns.length === 0 ? 'has no paths' : `has paths for ${patterns.join(', ')}, and none matches`
  return { problem: `cannot find '${name}': ${config} ${listed}`, hint: `Fix the import, or the paths in ${config}.` }
}

function missingPackage({ name, importer }: MissingModule, project: ProjectPaths | null): Explained {
  const [, wanted = name] = /^((?:@[^/]+\/)?[^/]+)/.exec(name) ?? []
  if (wanted === 'shoal') return { problem: `Shoal has no module '${name}'`, hint: undefined }
  const installed = folderOf(wanted, dirname(importer))
  if (installed !== null)
    return { problem: `the package '${wanted}' in ${shown(installed)} has no '${name}'`, hint: undefined }
  return {
    problem: `cannot find the package '${wanted}' from ${dirname(importer)}${elsewhere(name, project)}`,
    hint: `Install it: \`npm install ${wanted}\`.`,
  }
}

/** Where else it could have been. */
function elsewhere(name: string, project: ProjectPaths | null): string {
  if (project === null) return ''
  if (project.fault !== null) return `, and ${shown(project.file)} cannot be read: ${project.fault}`
  const files = project.candidates(name)
  return files.length === 0 ? '' : `, nor ${files.map(shown).join(', ')} (by ${shown(project.file)})`
}

/** A package that was installed without something that it needs. */
function missingDependency({ name, importer }: MissingModule): Explained {
  const parts = importer.split(/[/\\]node_modules[/\\]/)
  const [, owner = importer] = /^((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(parts.at(-1) ?? '') ?? []
  return {
    problem: `the package '${owner}' cannot find '${name}'`,
    hint: `Install it: \`npm install ${name}\`; or install '${owner}' again.`,
  }
}

function folderOf(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const wanted = join(folder, 'node_modules', name)
    if (existsSync(wanted)) return wanted
    if (dirname(folder) === folder) return null
  }
}

/** As short as it can be for somebody who sits at this machine. */
export function shown(file: string): string {
  return insideWorkingFolder(file) ?? file
}
