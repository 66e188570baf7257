import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Labels and indexes of the WHATWG Encoding standard: its `encodings.json` and index files, as the package text-encoding carries them. */

const require = createRequire(import.meta.url)
const { 'encoding-indexes': INDEXES } = require('text-encoding/lib/encoding-indexes.js') as {
  'encoding-indexes': Record<string, (number | null)[]> & { 'gb18030-ranges': [pointer: number, code: number][] }
}

export function indexOf(name: string): readonly (number | null)[] {
  const index = INDEXES[name]
  if (index === undefined) throw new Error(`The standard has no index ${name}`)
  return index
}

export const GB18030_RANGES = INDEXES['gb18030-ranges']

/** What the standard changed after the package was published, for GB 18030-2022: these were in the private use area. */
const GB18030_2022: Readonly<Record<number, readonly number[]>> = {
  42713: [0xfe10, 0xfe12, 0xfe11, 0xfe13, 0xfe14, 0xfe15, 0xfe16],
  42732: [0xfe17, 0xfe18],
  42739: [0xfe19],
  65113: [0x9fb4],
  65121: [0x9fb5],
  65126: [0x9fb6, 0x9fb7],
  65133: [0x9fb8],
  65150: [0x9fb9],
  65168: [0x9fba],
  65184: [0x9fbb],
}
const gb18030 = indexOf('gb18030') as (number | null)[]
for (const [bytes, codes] of Object.entries(GB18030_2022)) {
  const lead = Number(bytes) >> 8
  const trail = Number(bytes) & 0xff
  const pointer = (lead - 0x81) * 190 + trail - (trail < 0x7f ? 0x40 : 0x41)
  for (const [offset, code] of codes.entries()) gb18030[pointer + offset] = code
}

interface Encoding {
  readonly name: string
  readonly labels: readonly string[]
}

const LATER_LABELS: Readonly<Record<string, readonly string[]>> = {
  'UTF-8': ['unicode11utf8', 'unicode20utf8', 'x-unicode20utf8'],
  'UTF-16LE': ['csunicode', 'iso-10646-ucs-2', 'ucs-2', 'unicode', 'unicodefeff'],
  'UTF-16BE': ['unicodefffe'],
}

/** The package does not export the table: it is JSON in its source. */
function encodingsInSource(): Encoding[] {
  const source = readFileSync(require.resolve('text-encoding/lib/encoding.js'), 'utf8')
  const start = source.indexOf('[', source.indexOf('var encodings = '))
  const groups = JSON.parse(source.slice(start, source.indexOf('\n  ];', start) + 4)) as { encodings: Encoding[] }[]
  return groups.flatMap(({ encodings }) => encodings)
}

export const ENCODINGS: readonly Encoding[] = encodingsInSource().map(({ name, labels }) => ({
  name,
  labels: [...labels, ...(LATER_LABELS[name] ?? [])],
}))
