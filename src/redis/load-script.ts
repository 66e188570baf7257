import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Script } from './connection.js'

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
 * One script of several files (paths under src, without `.lua`), in order. The name of a constant is replaced by its value: a literal is faster than a
 * variable, and Lua allows a script 200 local variables. The text is the same in every process, because EVALSHA finds it by its hash.
 */
export function loadScript(name: string, files: readonly string[], constants: LuaConstants = {}): Script {
  // The path is the same from src and from dist, so that there is one copy of the files.
  const read = (file: string) => readFileSync(new URL(`../../src/${file}.lua`, import.meta.url), 'utf8')
  const source = files
    .map(read)
    .join('\n')
    .replace(/\b[A-Z][A-Z0-9_]+\b/g, (word) =>
      Object.hasOwn(constants, word) ? literal(constants[word] ?? word) : word,
    )
  return { name, source, sha: createHash('sha1').update(source).digest('hex') }
}

function literal(value: LuaConstants[string]): string {
  if (typeof value === 'number') return value < 0 ? `(${value})` : String(value)
  return typeof value === 'string'
    ? JSON.stringify(value)
    : `{ ${value.map((text) => JSON.stringify(text)).join(', ')} }`
}
