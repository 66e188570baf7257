import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/**
 * Who may import whom: the table of docs/architecture.md. A file directly in src is a place of its own, and so is each folder of drivers
 * (frontier/sqlite). `type x` allows types only, which bind to nothing at run time.
 */
const MAY_IMPORT: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8').matchAll(
      /^\| `([\w/-]+)` +\| ([\w/, -]+?) +\|$/gm,
    ),
  ].map(([, place = '', allowed = '']) => [place, allowed === 'nothing of ours' ? '' : allowed]),
)

/** Single imports that the table forbids, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'spider/load.ts → index.ts':
    "a spider file's import of 'shoal' is answered with this very copy, loaded when a file is",
}

/** Files that may look at the time, roll dice or set timers by themselves, each with its reason. */
const OWN_TIME: Readonly<Record<string, string>> = {
  'clock.ts': 'the only source of time and randomness',
  'embedded/thread.ts': 'a thread of its own: its beat must not depend on anything of the domain',
  'run/workers/worker-thread.ts': 'shows from inside that the event loop of the thread still turns',
  'run/workers/supervise.ts': 'watches that beat from outside',
}

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
  readonly dynamic: boolean
}

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.split(sep).join('/'))
const SOURCES = new Map(FILES.map((file) => [file, readFileSync(join(SRC, file), 'utf8')]))
const IMPORTS = FILES.flatMap(importsOf)

function importsOf(from: string): Import[] {
  const source = SOURCES.get(from) ?? ''
  const found: Import[] = []
  const add = (specifier: string, typeOnly: boolean, dynamic: boolean) => {
    if (!specifier.startsWith('.')) return
    const file = relative(SRC, join(SRC, dirname(from), specifier))
      .split(sep)
      .join('/')
      .replace(/\.js$/, '.ts')
    const to = SOURCES.has(`${file}x`) ? `${file}x` : file
    found.push({ from, to, typeOnly, dynamic })
  }
  const statements =
    /^(?:import|export)\s+(type\s)?\s*([\w*\s,]*(?:\{[^}]*\})?[\w*\s,]*?)\s*from\s+'([^']+)'|^import\s+'([^']+)'/gm
  for (const [, type, names = '', specifier, bare] of source.matchAll(statements)) {
    const named = /^\{([^}]*)\}$/.exec(names.trim())?.[1]
    const allTypes = named?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type ')) ?? false
    add(specifier ?? bare ?? '', type !== undefined || allTypes, false)
  }
  for (const [, specifier = ''] of source.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)) add(specifier, false, true)
  // Threads and child processes are started by the name of their file.
  for (const [, specifier = ''] of source.matchAll(/\bentryFile\(import\.meta\.url, '([^']+)'\)/g)) {
    add(specifier, false, true)
  }
  return found
}

/** `frontier/sqlite/views.ts` → `frontier/sqlite`; `clock.ts` → `clock`. The rooms of cli, run and observe are one place each. */
function placeOf(file: string): string {
  const folder = dirname(file).replace(/^(cli(?!\/terminal)|run|observe(?!\/alerts\/rules))\/.*/, '$1')
  return folder === '.' ? file.replace(/\.ts$/, '') : folder
}

function allows(from: string, { to, typeOnly }: Import): boolean {
  const allowed = (MAY_IMPORT[from] ?? '').split(', ')
  const place = placeOf(to)
  return place === from || allowed.includes(place) || (typeOnly && allowed.includes(`type ${place}`))
}

function shown({ from, to, typeOnly }: Import): string {
  return `${from} → ${to}${typeOnly ? ' (types)' : ''}`
}

/** Code without comments and texts, so that only what runs is looked at. */
function codeOf(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:'"`])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
}

describe('the import table', () => {
  it('finds the imports it judges', () => {
    expect(IMPORTS.length).toBeGreaterThan(300)
    for (const { from, to } of IMPORTS) expect(FILES, `${from} imports ${to}`).toContain(to)
    const lines = [...SOURCES.values()].join('\n').match(/\bfrom '\.{1,2}\//g)?.length ?? 0
    expect(IMPORTS.filter(({ dynamic }) => !dynamic)).toHaveLength(lines)
  })

  it('knows every place, and only places that exist', () => {
    expect(Object.keys(MAY_IMPORT).sort()).toEqual([...new Set(FILES.map(placeOf))].sort())
  })

  it('holds', () => {
    const broken = IMPORTS.filter((one) => !allows(placeOf(one.from), one) && !(shown(one) in EXCEPTIONS))
    expect(broken.map(shown)).toEqual([])
  })

  it('allows nothing that nobody does', () => {
    const unused = Object.entries(MAY_IMPORT).flatMap(([place, allowed]) =>
      allowed
        .split(', ')
        .filter((name) => name !== '')
        .filter((name) => {
          const wanted = name.replace(/^type /, '')
          const uses = IMPORTS.filter((one) => placeOf(one.from) === place && placeOf(one.to) === wanted)
          return name.startsWith('type ') ? uses.length === 0 : !uses.some(({ typeOnly }) => !typeOnly)
        })
        .map((name) => `${place}: ${name}`),
    )
    expect(unused).toEqual([])
    const used = new Set(IMPORTS.map(shown))
    expect(Object.keys(EXCEPTIONS).filter((one) => !used.has(one))).toEqual([])
  })

  it('has no circle of files, types included', () => {
    const next = new Map(FILES.map((file) => [file, [] as string[]]))
    for (const { from, to, dynamic } of IMPORTS) if (!dynamic) next.get(from)?.push(to)
    expect(circlesIn(next)).toEqual([])
  })

  it('has no circle of folders', () => {
    const next = new Map(Object.keys(MAY_IMPORT).map((place) => [place.split('/')[0] ?? place, [] as string[]]))
    for (const one of IMPORTS) {
      const [from = '', to = ''] = [one.from, one.to].map((file) => placeOf(file).split('/')[0])
      if (from !== to && !(shown(one) in EXCEPTIONS)) next.get(from)?.push(to)
    }
    expect(circlesIn(next)).toEqual([])
  })
})

function circlesIn(next: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]) => {
    const start = path.indexOf(node)
    if (start !== -1) circles.push([...path.slice(start), node].join(' → '))
    if (start !== -1 || done.has(node)) return
    for (const following of next.get(node) ?? []) walk(following, [...path, node])
    done.add(node)
  }
  for (const node of next.keys()) walk(node, [])
  return [...new Set(circles)]
}

describe('the code', () => {
  it('takes time and chance from the clock alone', () => {
    const words =
      /\b(Date\.now|Math\.random|performance\.now|process\.hrtime|setTimeout|setInterval|node:timers)\b|\bnew Date\(\)/
    const guilty = FILES.filter((file) => words.test(codeOf(SOURCES.get(file) ?? '')))
    expect(guilty.sort()).toEqual(Object.keys(OWN_TIME).sort())
  })

  it('has no any, no non-null assertion and no silenced compiler', () => {
    const guilty = FILES.filter((file) => {
      const source = SOURCES.get(file) ?? ''
      return (
        /[:<|&,(]\s*any\b(?!\s*\w)|\bas any\b/.test(codeOf(source)) || /@ts-(ignore|nocheck|expect-error)/.test(source)
      )
    })
    expect(guilty).toEqual([])
  })

  it('has no folder for leftovers', () => {
    expect(FILES.filter((file) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(file))).toEqual([])
  })
})
