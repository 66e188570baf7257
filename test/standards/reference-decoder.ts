import { GB18030_RANGES, indexOf } from './encoding-standard.js'

/** The decoders of the WHATWG Encoding standard, step by step as it words them and as slow as that is: what decodeText is compared with. */

const ERROR = 0xfffd

/** Reads one character; `at` is where it starts. What the standard prepends to the stream is simply not counted as read. */
type Step = (bytes: Uint8Array, at: number) => { readonly codes: readonly number[]; readonly read: number }

const one = (code: number, read: number) => ({ codes: [code], read })
const isAscii = (byte: number) => byte < 0x80
const within = (byte: number | undefined, low: number, high: number) =>
  byte !== undefined && byte >= low && byte <= high

/** Null: it is not in the index; the trail byte is read again if it is ASCII. */
function twoBytes(code: number | null | undefined, trail: number, read = 2) {
  if (code !== null && code !== undefined) return one(code, read)
  return one(ERROR, isAscii(trail) ? read - 1 : read)
}

const singleByte =
  (index: readonly (number | null)[]): Step =>
  (bytes, at) => {
    const byte = bytes[at] ?? 0
    return one(isAscii(byte) ? byte : (index[byte - 0x80] ?? ERROR), 1)
  }

const gb18030: Step = (bytes, at) => {
  const [first = 0, second, third, fourth] = bytes.subarray(at, at + 4)
  if (isAscii(first)) return one(first, 1)
  if (first === 0x80) return one(0x20ac, 1)
  if (first === 0xff) return one(ERROR, 1)
  if (second === undefined) return one(ERROR, 1)
  if (!within(second, 0x30, 0x39)) {
    const inRange = within(second, 0x40, 0x7e) || within(second, 0x80, 0xfe)
    const pointer = (first - 0x81) * 190 + second - (second < 0x7f ? 0x40 : 0x41)
    return twoBytes(inRange ? indexOf('gb18030')[pointer] : null, second)
  }
  if (third === undefined) return one(ERROR, 2)
  if (!within(third, 0x81, 0xfe)) return one(ERROR, 1)
  if (fourth === undefined) return one(ERROR, 3)
  if (!within(fourth, 0x30, 0x39)) return one(ERROR, 1)
  const pointer = (first - 0x81) * 12_600 + (second - 0x30) * 1260 + (third - 0x81) * 10 + fourth - 0x30
  return one(inRanges(pointer) ?? ERROR, 4)
}

function inRanges(pointer: number): number | null {
  if ((pointer > 39_419 && pointer < 189_000) || pointer > 1_237_575) return null
  if (pointer === 7457) return 0xe7c7
  const [start, code] = GB18030_RANGES.findLast(([first]) => first <= pointer) ?? [0, 0]
  return code + pointer - start
}

const BIG5_PAIRS: Readonly<Record<number, readonly number[]>> = {
  1133: [0xca, 0x304],
  1135: [0xca, 0x30c],
  1164: [0xea, 0x304],
  1166: [0xea, 0x30c],
}

const big5: Step = (bytes, at) => {
  const [lead = 0, trail] = bytes.subarray(at, at + 2)
  if (isAscii(lead)) return one(lead, 1)
  if (!within(lead, 0x81, 0xfe) || trail === undefined) return one(ERROR, 1)
  const inRange = within(trail, 0x40, 0x7e) || within(trail, 0xa1, 0xfe)
  const pointer = (lead - 0x81) * 157 + trail - (trail < 0x7f ? 0x40 : 0x62)
  const pair = inRange ? BIG5_PAIRS[pointer] : undefined
  return pair === undefined ? twoBytes(inRange ? indexOf('big5')[pointer] : null, trail) : { codes: pair, read: 2 }
}

const eucJp: Step = (bytes, at) => {
  const [lead = 0, second, third] = bytes.subarray(at, at + 3)
  if (isAscii(lead)) return one(lead, 1)
  if (!(lead === 0x8e || lead === 0x8f || within(lead, 0xa1, 0xfe)) || second === undefined) return one(ERROR, 1)
  if (lead === 0x8e && within(second, 0xa1, 0xdf)) return one(0xff61 - 0xa1 + second, 2)
  if (lead === 0x8f && within(second, 0xa1, 0xfe)) {
    if (third === undefined) return one(ERROR, 2)
    const pointer = (second - 0xa1) * 94 + third - 0xa1
    return twoBytes(within(third, 0xa1, 0xfe) ? indexOf('jis0212')[pointer] : null, third, 3)
  }
  const inRange = within(lead, 0xa1, 0xfe) && within(second, 0xa1, 0xfe)
  return twoBytes(inRange ? indexOf('jis0208')[(lead - 0xa1) * 94 + second - 0xa1] : null, second)
}

const shiftJis: Step = (bytes, at) => {
  const [lead = 0, trail] = bytes.subarray(at, at + 2)
  if (isAscii(lead) || lead === 0x80) return one(lead, 1)
  if (within(lead, 0xa1, 0xdf)) return one(0xff61 - 0xa1 + lead, 1)
  if (!(within(lead, 0x81, 0x9f) || within(lead, 0xe0, 0xfc)) || trail === undefined) return one(ERROR, 1)
  if (!(within(trail, 0x40, 0x7e) || within(trail, 0x80, 0xfc))) return twoBytes(null, trail)
  const pointer = (lead - (lead < 0xa0 ? 0x81 : 0xc1)) * 188 + trail - (trail < 0x7f ? 0x40 : 0x41)
  return twoBytes(within(pointer, 8836, 10_715) ? 0xe000 - 8836 + pointer : indexOf('jis0208')[pointer], trail)
}

const eucKr: Step = (bytes, at) => {
  const [lead = 0, trail] = bytes.subarray(at, at + 2)
  if (isAscii(lead)) return one(lead, 1)
  if (!within(lead, 0x81, 0xfe) || trail === undefined) return one(ERROR, 1)
  return twoBytes(within(trail, 0x41, 0xfe) ? indexOf('euc-kr')[(lead - 0x81) * 190 + trail - 0x41] : null, trail)
}

type JpState = 'ascii' | 'roman' | 'katakana' | 'lead'
const ESCAPES: Readonly<Record<string, JpState>> = {
  '(B': 'ascii',
  '(J': 'roman',
  '(I': 'katakana',
  $B: 'lead',
  '$@': 'lead',
}

/** The only one with a state that outlives a character. */
function iso2022Jp(bytes: Uint8Array): number[] {
  const codes: number[] = []
  let state: JpState = 'ascii'
  /** "ISO-2022-JP output flag": an escape sequence directly after another one is an error. */
  let escaped = false
  let at = 0
  const read = (code: number): void => {
    codes.push(code)
    escaped = false
  }
  while (at < bytes.length) {
    const byte = bytes[at++] ?? 0
    if (byte === 0x1b) {
      const next = at + 1 < bytes.length ? ESCAPES[String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0)] : undefined
      if (next === undefined) read(ERROR)
      else {
        at += 2
        state = next
        if (escaped) codes.push(ERROR)
        escaped = true
      }
    } else if (state === 'lead') {
      const trail = bytes[at]
      if (!within(byte, 0x21, 0x7e) || trail === undefined) read(ERROR)
      else {
        // An escape sequence instead of the trail byte begins as one.
        if (trail !== 0x1b) at++
        const inRange = within(trail, 0x21, 0x7e)
        read((inRange ? indexOf('jis0208')[(byte - 0x21) * 94 + trail - 0x21] : null) ?? ERROR)
      }
    } else if (state === 'katakana') read(within(byte, 0x21, 0x5f) ? 0xff61 - 0x21 + byte : ERROR)
    else if (!isAscii(byte) || byte === 0x0e || byte === 0x0f) read(ERROR)
    else if (state === 'roman' && byte === 0x5c) read(0xa5)
    else if (state === 'roman' && byte === 0x7e) read(0x203e)
    else read(byte)
  }
  return codes
}

const STEPS: Readonly<Record<string, Step>> = {
  GBK: gb18030,
  gb18030,
  Big5: big5,
  'EUC-JP': eucJp,
  Shift_JIS: shiftJis,
  'EUC-KR': eucKr,
  'ISO-8859-8-I': singleByte(indexOf('iso-8859-8')),
  'x-user-defined': singleByte(Array.from({ length: 128 }, (_, offset) => 0xf780 + offset)),
}

export function decodeByStandard(name: string, bytes: Uint8Array): string {
  if (name === 'ISO-2022-JP')
    return iso2022Jp(bytes)
      .map((code) => String.fromCodePoint(code))
      .join('')
  const step = STEPS[name] ?? singleByte(indexOf(name.toLowerCase()))
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const { codes, read } = step(bytes, at)
    for (const code of codes) text += String.fromCodePoint(code)
    at += read
  }
  return text
}
