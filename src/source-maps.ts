import { SourceMap } from 'node:module'
import type { Place } from './stack-place.js'

/**
 * From the code that runs to the code that was written. A spider file is compiled in memory, which keeps its lines, but its columns move as soon as a
 * type is removed. Node maps only files that it has loaded itself. A map is decoded when the first error needs it.
 */
interface Compiled {
  /** Characters that were put before the first line. */
  readonly indent: number
  /** The compiled code, until its map has been read; null: it has none. */
  map: string | SourceMap | null
}

const compiled = new Map<string, Compiled>()

const INLINE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,'

/** What jiti puts before the first line of a module. */
const WRAPPER = 'function (exports, require, module, __filename, __dirname, jitiImport, jitiESMResolve) { '

/** `code` ends with its source map. */
export function keepSourceMap(file: string, code: string, isAsync: boolean): void {
  compiled.set(file, { map: code, indent: `(${isAsync ? 'async ' : ''}${WRAPPER}`.length })
}

/** The same for a whole script, as it runs: the code with what was put around it. One that was not compiled has no map. */
export function keepScript(file: string, script: string): void {
  if (script.includes(INLINE_MAP)) keepSourceMap(file, script, script.startsWith('(async '))
}

/** The place in the file as it was written; the same place if the file runs as it is. */
export function originalPlace(place: Place): Place {
  const source = compiled.get(place.file)
  if (source === undefined || place.column === null) return place
  if (typeof source.map === 'string') source.map = mapIn(source.map)
  const indent = place.line === 1 ? source.indent : 0
  const { generatedLine, originalLine, originalColumn } = entryOf(source.map, place.line - 1, place.column - 1 - indent)
  // Lines are kept, so the line is right in any case.
  if (generatedLine !== place.line - 1) return { ...place, column: null }
  return { ...place, line: originalLine + 1, column: originalColumn + 1 }
}

function entryOf(map: SourceMap | null, line: number, column: number): Entry {
  const entry = map?.findEntry(line, column)
  return entry !== undefined && 'originalLine' in entry ? entry : NO_ENTRY
}

type Entry = Pick<Exclude<ReturnType<SourceMap['findEntry']>, Record<string, never>>, keyof typeof NO_ENTRY>

const NO_ENTRY = { generatedLine: -1, originalLine: -1, originalColumn: -1 }

function mapIn(code: string): SourceMap | null {
  const start = code.lastIndexOf(INLINE_MAP)
  if (start === -1) return null
  // The cache of compiled files adds a comment to the same line.
  const [encoded = ''] = code.slice(start + INLINE_MAP.length).split(/\s/, 1)
  try {
    return new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()))
  } catch {
    return null
  }
}
