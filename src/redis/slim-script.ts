/**
 * Redis runs a script from its first line in every call, so every function of the shared parts costs time whether the call needs it or not: Lua builds a closure,
 * and searches all variables that closures have captured so far, once for each that this one captures. Half of a call with one link was that. A slim script
 * has literals in place of its constants, and no function or variable that nothing refers to.
 *
 * It relies on how the Lua files are written: what is global to a script begins in the first column, a function ends with an `end` there, constants have names
 * in capitals and are never assigned to again. Lines keep their numbers, so that an error can be traced to its file.
 */
export function slimScript(files: readonly LuaFile[]): string {
  const statements = files.flat()
  const constants = new Map<string, string>()
  for (const { name, value } of statements.flatMap(({ defines }) => defines)) {
    if (value !== null && CAPITALS.test(name) && LITERAL.test(value)) constants.set(name, value)
  }
  const used = usedNames(statements)
  return statements.map((statement) => textOf(statement, used, constants)).join('\n')
}

/** The statements of a file in the first column, each with the lines that belong to it. Parsed once, for all scripts that the file is part of. */
export type LuaFile = readonly Statement[]

interface Statement {
  readonly lines: number
  /** Its text without comments, cut at names in capitals: every other piece is such a name. */
  readonly pieces: readonly string[]
  readonly uses: ReadonlySet<string>
  /** What it defines, if it does nothing else: then it is left out unless something uses it. */
  readonly defines: readonly Definition[]
}

interface Definition {
  readonly name: string
  /** Null for a function. */
  readonly value: string | null
  readonly uses: ReadonlySet<string>
}

const TEXT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/.source
/** A text, in which two hyphens are no comment, or a comment. */
const COMMENT = new RegExp(`${TEXT}|--[^\n]*`, 'g')
/** A text, a field, or a name (captured). */
const NAME = new RegExp(`${TEXT}|(?<!\\.)\\.\\w+|\\b([A-Za-z_]\\w*)\\b`, 'g')
const CAPITALS = /^[A-Z][A-Z0-9_]+$/
const LITERAL = new RegExp(`^(?:\\d[\\w.]*|${TEXT})$`)
/** Evaluating it has no effect: names, fields and literals, empty tables, packed literals. */
const INERT = new RegExp(`^(?:[\\w.]+(?:\\[\\d+\\])?|${TEXT}|\\{\\}|pack\\([^()]*\\))$`)
/** Belongs to the statement of the line before. */
const CONTINUES = /^(?:$|\s|end\b|else)/

export function parseLua(source: string): LuaFile {
  const bare = source.replace(COMMENT, (found) => (found.startsWith('--') ? '' : found))
  const groups: string[][] = []
  for (const line of bare.split('\n')) {
    if (CONTINUES.test(line) && groups.length > 0) groups.at(-1)?.push(line.trim())
    else groups.push([line.trim()])
  }
  return groups.map(parseStatement)
}

function parseStatement(lines: readonly string[]): Statement {
  const text = lines.join('\n')
  const pieces = ['']
  const uses = new Set<string>()
  let from = 0
  for (const { 1: name, index } of text.matchAll(NAME)) {
    if (name === undefined) continue
    uses.add(name)
    if (!CAPITALS.test(name)) continue
    pieces[pieces.length - 1] = text.slice(from, index)
    pieces.push(name, '')
    from = index + name.length
  }
  pieces[pieces.length - 1] = text.slice(from)
  return { lines: lines.length, pieces, uses, defines: definitionsOf(text.trimEnd(), uses) }
}

function definitionsOf(text: string, uses: ReadonlySet<string>): Definition[] {
  const name = /^local function (\w+)/.exec(text)?.[1]
  if (name !== undefined) return [{ name, value: null, uses }]
  const [, left, right] = /^local ([\w, ]+) = (.+)$/.exec(text) ?? []
  const names = splitList(left ?? '')
  const values = splitList(right ?? '')
  if (names.length !== values.length || !values.every((value) => INERT.test(value))) return []
  return names.map((one, nth) => {
    const value = values[nth] ?? ''
    return { name: one, value, uses: parseStatement([value]).uses }
  })
}

/** At the commas that no bracket encloses. */
function splitList(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const [piece] of text.matchAll(new RegExp(`${TEXT}|.`, 'g'))) {
    if (/^[([{]$/.test(piece)) depth++
    if (/^[)\]}]$/.test(piece)) depth--
    if (piece === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts.map((part) => part.trim())
}

/** All names that are reached from the statements that do something. */
function usedNames(statements: readonly Statement[]): ReadonlySet<string> {
  const definers = new Map<string, Definition[]>()
  for (const definition of statements.flatMap(({ defines }) => defines)) {
    const others = definers.get(definition.name)
    if (others === undefined) definers.set(definition.name, [definition])
    else others.push(definition)
  }
  const used = new Set<string>()
  const reached = statements.filter(({ defines }) => defines.length === 0).map(({ uses }) => uses)
  for (let uses = reached.pop(); uses !== undefined; uses = reached.pop()) {
    for (const name of uses) {
      if (used.has(name)) continue
      used.add(name)
      for (const definition of definers.get(name) ?? []) reached.push(definition.uses)
    }
  }
  return used
}

function textOf(
  { lines, pieces, defines }: Statement,
  used: ReadonlySet<string>,
  constants: ReadonlyMap<string, string>,
): string {
  const kept = defines.filter(({ name }) => used.has(name) && !constants.has(name))
  if (defines.length > 0 && kept.length === 0) return '\n'.repeat(lines - 1)
  const fold = (some: readonly string[]) =>
    some.map((piece, nth) => (nth % 2 === 0 ? piece : (constants.get(piece) ?? piece))).join('')
  if (kept.length === defines.length) return fold(pieces)
  const values = kept.map(({ value }) => (value === null ? '' : fold(parseStatement([value]).pieces)))
  return `local ${kept.map(({ name }) => name).join(', ')} = ${values.join(', ')}${'\n'.repeat(lines - 1)}`
}
