import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Script } from './connection.js'
import { type LuaFile, parseLua, slimScript } from './slim-script.js'

/** What Lua needs of TypeScript's numbers and texts, by the name that stands for it in the Lua files. */
export type LuaConstants = Readonly<Record<string, number | string | readonly string[]>>

/** The numbers and lists that modules export as constants: names in capitals. */
export function constantsOf(...modules: readonly object[]): LuaConstants {
  const exported = modules.flatMap((module) => Object.entries(module) as [string, unknown][])
  const isConstant = (one: [string, unknown]): one is [string, number | readonly string[]] =>
    /^[A-Z][A-Z0-9_]+$/.test(one[0]) && (typeof one[1] === 'number' || Array.isArray(one[1]))
  return Object.fromEntries(exported.filter(isConstant))
}

/**
 * Loads scripts of several files each (paths under src, without `.lua`), in order. The name of a constant of TypeScript is replaced by its value. The text is
 * the same in every process, because EVALSHA finds it by its hash.
 */
export function scriptLoader(constants: LuaConstants = {}): (name: string, files: readonly string[]) => Script {
  const read = new Map<string, LuaFile>()
  const fileOf = (file: string) => {
    const known = read.get(file) ?? parseLua(readLua(file, constants))
    read.set(file, known)
    return known
  }
  return (name, files) => {
    const parsed = files.map(fileOf)
    const source = slimScript(parsed)
    const parts = parsed.map((statements, nth) => ({ file: `${files[nth]}.lua`, lines: linesOf(statements) }))
    return { name, source, sha: createHash('sha1').update(source).digest('hex'), parts }
  }
}

function readLua(file: string, constants: LuaConstants): string {
  // The path is the same from src and from dist, so that there is one copy of the files.
  const source = readFileSync(new URL(`../../src/${file}.lua`, import.meta.url), 'utf8')
  return source.replace(/\b[A-Z][A-Z0-9_]+\b/g, (word) =>
    Object.hasOwn(constants, word) ? literal(constants[word] ?? word) : word,
  )
}

function linesOf(statements: LuaFile): number {
  return statements.reduce((sum, { lines }) => sum + lines, 0)
}

function literal(value: LuaConstants[string]): string {
  if (typeof value === 'number') return value < 0 ? `(${value})` : String(value)
  return typeof value === 'string'
    ? JSON.stringify(value)
    : `{ ${value.map((text) => JSON.stringify(text)).join(', ')} }`
}
