import { createRequire } from 'node:module'

/**
 * The encodings of the WHATWG Encoding standard, by a library that follows its tables. Node's own TextDecoder does not: its ICU decodes 8,824 of 17,048
 * characters of EUC-KR differently from every browser, 5,088 of 18,590 of Big5, and the euro sign of GBK.
 */

type Standard = typeof import('@exodus/bytes/encoding.js')

const require = createRequire(import.meta.url)
let loaded: Standard | null = null

/** Loaded with the first page that needs it: its tables take 25 ms of CPU, and most crawls see nothing but UTF-8. */
function standard(): Standard {
  loaded ??= require('@exodus/bytes/encoding.js') as Standard
  return loaded
}

/** The name of the encoding that has this label; null if none has. */
export function encodingNamed(label: string): string | null {
  const lower = label.toLowerCase()
  if (lower === 'utf-8' || lower === 'utf8') return 'UTF-8'
  return label === '' ? null : standard().labelToName(label)
}

/** Never throws: what is not valid becomes U+FFFD, as often as the standard says. A BOM is left out. */
export function decodeAs(encoding: string, bytes: Uint8Array): string {
  return standard().legacyHookDecode(bytes, encoding.toLowerCase())
}

/** For text that comes in pieces. */
export function createDecoder(encoding: string): InstanceType<Standard['TextDecoder']> {
  return encodingNamed(encoding) === 'UTF-8' ? new TextDecoder() : new (standard().TextDecoder)(encoding)
}
