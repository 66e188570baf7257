import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/**
 * Every type that a user can meet in the definition of a spider, on a page or in the result of a test can be imported by its name: without that,
 * nobody can write a helper with a signature.
 */

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const ENTRIES = ['index.ts', 'test.ts']
/** What a user starts from. */
const ROOTS = [
  'SpiderDefinition',
  'TaggedDefinition',
  'TaggedBuilder',
  'RouteDefinition',
  'Page',
  'Out',
  'Step',
  'SeedDefinition',
  'SeedSourceDefinition',
  'SpiderTest',
  'TestOptions',
]

interface Module {
  /** Name → the text of its type. */
  readonly types: ReadonlyMap<string, string>
  /** Local name → where it comes from. */
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>
  readonly stars: readonly string[]
  readonly reexports: ReadonlyMap<string, { readonly file: string; readonly name: string }>
}

const modules = new Map<string, Module>()

function moduleOf(file: string): Module {
  const known = modules.get(file)
  if (known !== undefined) return known
  const source = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const types = new Map<string, string>()
  for (const [, name = '', text = ''] of source.matchAll(
    /^(?:export )?(?:declare )?(?:interface|type|class) (\w+)([\s\S]*?)(?=^(?:export |import |async |declare )*(?:interface|type|class|function|const|let)\b|(?![\s\S]))/gm,
  ))
    types.set(name, text)
  const named = (pattern: RegExp) => {
    const found = new Map<string, { file: string; name: string }>()
    for (const [, names = '', from = ''] of source.matchAll(pattern)) {
      if (!from.startsWith('.')) continue
      const target = relative(SRC, join(SRC, dirname(file), from)).replace(/\.js$/, '.ts')
      for (const part of names.split(',')) {
        const [name = '', alias = name] = part
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        if (name !== '') found.set(alias, { file: target, name })
      }
    }
    return found
  }
  const module = {
    types,
    imports: named(/^import (?:type )?\{([^}]*)\} from '([^']+)'/gm),
    reexports: named(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm),
    stars: [...source.matchAll(/^export type \* from '([^']+)'/gm)].map(([, from = '']) =>
      relative(SRC, join(SRC, dirname(file), from)).replace(/\.js$/, '.ts'),
    ),
  }
  modules.set(file, module)
  return module
}

/** `file name` of everything that the entries export. */
function exported(): Set<string> {
  const names = new Set<string>()
  for (const entry of ENTRIES) {
    const { reexports, stars } = moduleOf(entry)
    for (const { file, name } of reexports.values()) names.add(`${file} ${name}`)
    for (const file of stars) for (const name of exportedFrom(file)) names.add(`${file} ${name}`)
  }
  return names
}

function exportedFrom(file: string): string[] {
  const source = readFileSync(join(SRC, file), 'utf8')
  return [...source.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name = '']) => name)
}

function reachedFrom(start: readonly string[]): Set<string> {
  const reached = new Set<string>()
  const visit = (file: string, name: string): void => {
    const key = `${file} ${name}`
    const { types, imports } = moduleOf(file)
    const text = types.get(name)
    if (reached.has(key) || text === undefined) return
    reached.add(key)
    for (const [word] of text.matchAll(/\b[A-Z]\w*/g)) {
      const imported = imports.get(word)
      if (imported !== undefined) visit(imported.file, imported.name)
      else if (types.has(word)) visit(file, word)
    }
  }
  for (const one of start) visit(...(one.split(' ') as [string, string]))
  return reached
}

describe('the types of a spider', () => {
  it('can all be imported', () => {
    const names = exported()
    const starts = [...names].filter((one) => ROOTS.includes(one.split(' ')[1] ?? ''))
    expect(starts.map((one) => one.split(' ')[1]).sort()).toEqual([...ROOTS].sort())
    const reached = reachedFrom(starts)
    expect(reached.size).toBeGreaterThan(60)
    expect([...reached].filter((one) => !names.has(one))).toEqual([])
  })
})
