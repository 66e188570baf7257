import { readFileSync } from 'node:fs'
import { asWritten, isOwnFile } from '../error-place.js'
import { originalPlace } from '../source-maps.js'
import { type Place, placeIn, placeText } from '../stack-place.js'
import { stackOf, textOf } from '../thrown.js'
import { explained, type MissingModule, shown } from './missing-module.js'
import type { ProjectPaths } from './project-paths.js'

/** Why a spider file could not be loaded, for a person. */
interface LoadFailure {
  /** One line: file:line:column and what is wrong. The file may be one that the spider imports. */
  readonly message: string
  /** Undefined: fix that line. */
  readonly hint: string | undefined
}

/** `file` is the spider file, `path` what the user calls it. */
export function loadFailure(error: unknown, file: string, path: string, project: ProjectPaths | null): LoadFailure {
  const [what = '', ...rest] = `${textOf(error)}\n${stackOf(error)}`.split('\n')
  const place = placeAmong(rest)
  const missing = missingModule(error, what, place?.file ?? file)
  if (missing === null) {
    const problem = asWritten(what)
    return { message: located(place, problem.replace(SYNTAX, '').trim(), file, path), hint: exportHint(what, problem) }
  }
  const { problem, hint } = explained(missing, project)
  return { message: located(placeOfImport(missing, place?.line ?? 1) ?? place, problem, file, path), hint }
}

/** The name of a function that the other file does not export is undefined until it is called. */
function exportHint(thrown: string, problem: string): string | undefined {
  if (thrown === problem || !problem.includes('is not a ')) return undefined
  return 'Check the spelling, and that the file it is imported from exports it.'
}

const SYNTAX = /^(ParseError|SyntaxError): /

function placeAmong(lines: readonly string[]): Place | null {
  for (const line of lines) {
    const place = placeIn(line)
    // A compiler names the line itself, a stack the line of the compiled code.
    if (place !== null && isOwnFile(place.file)) return line.startsWith('    at ') ? originalPlace(place) : place
  }
  return null
}

function located(place: Place | null, problem: string, file: string, path: string): string {
  if (place === null) return `${path}: ${problem}`
  if (place.file === file) return `${placeText({ ...place, file: path })}: ${problem}`
  return `${path}: ${placeText({ ...place, file: shown(place.file) })}: ${problem}`
}

const MISSING = /^(?:Cannot find (?:module|package) '([^']+)'|No such built-in module: (\S+)$)/
const URL_MODULE = /^ENOENT: no such file or directory, open '(https?:[^']+)'/

function missingModule(error: unknown, what: string, importer: string): MissingModule | null {
  const name = MISSING.exec(what)?.slice(1).find(Boolean) ?? URL_MODULE.exec(what)?.[1]
  if (name === undefined) return null
  // The nearest importer is the first of the require stack; it may be a file of a package.
  const [, first] = /\n- (.+)/.exec(textOf(error)) ?? []
  return { name, importer: first ?? importer }
}

/** Where the import is written: an import of several lines begins before the name of its module. */
function placeOfImport({ name, importer }: MissingModule, fromLine: number): Place | null {
  if (!isOwnFile(importer)) return null
  const lines = textIn(importer).split('\n')
  for (const start of [fromLine - 1, 0]) {
    for (let index = start; index < lines.length; index++) {
      const column = Math.max(...[`'${name}'`, `"${name}"`].map((quoted) => lines[index]?.indexOf(quoted) ?? -1))
      if (column >= 0) return { file: importer, line: index + 1, column: column + 1 }
    }
  }
  return null
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
