import { describe, expect, it } from 'vitest'
import { decodeText } from '../../src/fetch/charset.js'
import { encodingNamed } from '../../src/fetch/encodings.js'
import { encodeQuery } from '../../src/url/encode-query.js'
import { runs } from '../support/longer.js'
import { ENCODINGS, indexOf } from './encoding-standard.js'
import { decodeByStandard } from './reference-decoder.js'

const decoded = (label: string, body: Uint8Array) =>
  decodeText({ body, headers: { 'content-type': `text/html; charset=${label}` } }).text

const LEGACY = ENCODINGS.filter(({ name }) => !name.startsWith('UTF-') && name !== 'replacement')

/** Every pair of bytes, on lines of their own; a single byte is the first half of a line. */
function pairs(before: readonly number[] = [], after: readonly number[] = []): Uint8Array {
  const bytes: number[] = []
  for (let lead = 0; lead < 256; lead++)
    for (let trail = 0; trail < 256; trail++) bytes.push(...before, lead, trail, ...after, 0x0a)
  return Uint8Array.from(bytes)
}

/** A third of the sequences of four bytes that gb18030 can have. */
function fourBytes(): Uint8Array {
  const bytes: number[] = []
  for (let first = 0x81; first < 0xff; first++)
    for (let second = 0x30; second < 0x3a; second++)
      for (let third = 0x81; third < 0xff; third++)
        for (let fourth = 0x30 + (third % 3); fourth < 0x3a; fourth += 3) bytes.push(first, second, third, fourth, 0x0a)
  return Uint8Array.from(bytes)
}

const TO_ASCII = [0x1b, 0x28, 0x42]
const ESCAPES = ['(B', '(J', '(I', '$@', '$B', '(C', '$', '']

function inputsFor(name: string): Uint8Array[] {
  if (name === 'ISO-2022-JP')
    return ESCAPES.map((rest) => pairs([0x1b, ...Buffer.from(rest, 'latin1')], TO_ASCII)).concat(pairs())
  if (name === 'EUC-JP') return [pairs(), pairs([0x8f])]
  return [pairs()]
}

interface Table {
  readonly bytes: Uint8Array
  readonly standard: string
}

const tables = new Map<string, readonly Table[]>()

function tablesOf(name: string): readonly Table[] {
  const known = tables.get(name) ?? inputsFor(name).map((bytes) => ({ bytes, standard: decodeByStandard(name, bytes) }))
  tables.set(name, known)
  return known
}

/** For the message; empty if there is none. */
function firstDifference(ours: string, standard: string): string {
  const [left, right] = [ours.split('\n'), standard.split('\n')]
  const line = left.findIndex((text, index) => text !== right[index])
  return line === -1 ? '' : `line ${line}: ${JSON.stringify(left[line])}, not ${JSON.stringify(right[line])}`
}

describe('the Encoding standard', () => {
  it('has these labels and no others', () => {
    for (const { name, labels } of ENCODINGS)
      for (const label of labels) {
        expect(encodingNamed(label), label).toBe(name)
        expect(encodingNamed(` ${label.toUpperCase()}\t`), label).toBe(name)
      }
    for (const label of ['', 'utf-7', 'utf-32', 'iso-8859-12', 'constructor', 'utf-8\u00a0', 'utf‐8'])
      expect(encodingNamed(label), label).toBe(null)
  })

  it('decodes every character of every index, and everything that is in none', () => {
    let sequences = 0
    const wrong: string[] = []
    for (const { name, labels } of LEGACY) {
      for (const { bytes, standard } of tablesOf(name)) {
        sequences += 65_536
        for (const label of labels) {
          const ours = decoded(label, bytes)
          if (ours !== standard) wrong.push(`${label}: ${firstDifference(ours, standard)}`)
        }
      }
    }
    const labels = LEGACY.flatMap((encoding) => encoding.labels)
    const right = new Set(labels).size - new Set(wrong.map((line) => line.split(':', 1)[0])).size
    console.log(
      `Encoding standard: ${LEGACY.length} legacy encodings, ${sequences} byte sequences; ${right} of ${labels.length} labels decode all of them (${((100 * right) / labels.length).toFixed(2)} %)`,
    )
    expect(wrong).toEqual([])
  }, 60_000)

  it('decodes the four-byte characters of gb18030', () => {
    const bytes = fourBytes()
    expect(firstDifference(decoded('gb18030', bytes), decodeByStandard('gb18030', bytes))).toBe('')
  }, 60_000)

  it('decodes any bytes, and replaces as many as the standard does', () => {
    let random = 1
    const next = () => {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
      return random >>> 24
    }
    for (let run = 0; run < runs(20); run++) {
      // Mostly bytes that begin or end something, so that sequences are cut everywhere.
      const bytes = Uint8Array.from({ length: 2000 }, () =>
        next() < 40 ? (ESCAPES_AND_ASCII[next() % 8] ?? 0) : next(),
      )
      for (const { name } of LEGACY) expect(decoded(name, bytes), name).toBe(decodeByStandard(name, bytes))
    }
  }, 60_000)

  it('decodes UTF-16 and the replacement encoding', () => {
    expect(decoded('utf-16le', Uint8Array.of(0x61, 0, 0, 0xd8, 0x62, 0, 0x63))).toBe('a\ufffdb\ufffd')
    expect(decoded('utf-16be', Uint8Array.of(0, 0x61, 0xd8, 0x3d, 0xde, 0, 0xdc, 0))).toBe('a😀\ufffd')
    for (const label of ENCODINGS.find(({ name }) => name === 'replacement')?.labels ?? []) {
      expect(decoded(label, Buffer.from('<p>any length'))).toBe('\ufffd')
      expect(decoded(label, new Uint8Array())).toBe('')
    }
  })
})

const ESCAPES_AND_ASCII = [0x1b, 0x24, 0x28, 0x42, 0x4a, 0x49, 0x40, 0x30]

const SURROGATE = /^[\ud800-\udfff]$/
const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, offset) => first + offset)
/** For GB 18030-2022, out of the private use area. */
const MOVED_FROM = [...upTo(0xe78d, 0xe796), 0xe81e, 0xe826, 0xe82b, 0xe82c, 0xe832, 0xe843, 0xe854, 0xe864]
const MOVED_TO = [0xfe10, 0xfe12, 0xfe11, ...upTo(0xfe13, 0xfe19), ...upTo(0x9fb4, 0x9fbb)]

/** What the standard's encoders write although no decoder reads it back as the same. */
const WRITTEN_AS: Readonly<Record<string, ReadonlyMap<number, number>>> = {
  'EUC-JP': new Map([
    [0x2212, 0xff0d],
    [0xa5, 0x5c],
    [0x203e, 0x7e],
  ]),
  Shift_JIS: new Map([
    [0x2212, 0xff0d],
    [0xa5, 0x5c],
    [0x203e, 0x7e],
  ]),
  GBK: new Map(MOVED_FROM.map((code, index) => [code, MOVED_TO[index] ?? 0])),
  'ISO-2022-JP': new Map([
    [0x2212, 0xff0d],
    // Half-width letters as full-width ones.
    ...upTo(0xff61, 0xff9d).map((code): [number, number] => [
      code,
      String.fromCodePoint(code).normalize('NFKC').codePointAt(0) ?? 0,
    ]),
    [0xff9e, 0x309b],
    [0xff9f, 0x309c],
  ]),
}

const JIS0208 = new Set(indexOf('jis0208'))
const BIG5_FOR_ENCODERS = new Set(indexOf('big5').slice((0xa1 - 0x81) * 157))

/** In an index, but not for encoders. */
function isLeftOut(code: number, name: string): boolean {
  if (name === 'Shift_JIS') return code === 0x80 ? false : code >= 0xe000 && code <= 0xe757
  if (name === 'EUC-JP') return !JIS0208.has(code) && !(code >= 0xff61 && code <= 0xff9f)
  if (name === 'Big5') return !BIG5_FOR_ENCODERS.has(code)
  return false
}

it('encodes what the indexes have, and nothing else', () => {
  for (const { name } of LEGACY) {
    // GBK without its limits: four bytes for everything else.
    if (name === 'gb18030') continue
    const decodable = new Set<string>()
    for (const { standard } of tablesOf(name)) for (const character of standard) decodable.add(character)
    // Everything that is in the index, and a sample of what is not.
    const characters = Array.from({ length: 0x3_0000 - 0x80 }, (_, offset) =>
      String.fromCodePoint(0x80 + offset),
    ).filter(
      (character, offset) =>
        !SURROGATE.test(character) && (decodable.has(character) || offset < 0x100 || offset % 61 === 0),
    )
    const query = encodeQuery(`?${characters.join('.')}`, { encoding: name }).slice(1)
    const bytes = query.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    const written = decodeByStandard(name, Buffer.from(bytes, 'latin1')).split('.')
    const wrong = characters.flatMap((character, index) => {
      const code = character.codePointAt(0) ?? 0
      const other = WRITTEN_AS[name]?.get(code)
      const has = decodable.has(character) && code !== 0xfffd && !isLeftOut(code, name)
      const expected = other !== undefined ? String.fromCodePoint(other) : has ? character : `&#${code};`
      return written[index] === expected ? [] : [`${name}: U+${code.toString(16)} as ${written[index]}`]
    })
    expect(wrong.slice(0, 10)).toEqual([])
  }
}, 60_000)

it('encodes what GB 18030-2022 moved out of the private use area as before', () => {
  for (const encoding of ['GBK', 'gb18030'])
    expect(encodeQuery('?\ue78d\ue796\ue81e\ufe10\u9fb4\ue5e5', { encoding })).toBe(
      '?%A6%D9%A6%F3%FEY%A6%D9%FEY%26%2358853%3B',
    )
})
