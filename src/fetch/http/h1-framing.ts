import type { ResponseHead } from './h1-head.js'

/** Where the body of a response ends, and what becomes of its connection. */
export interface Framing {
  /** `none`: the response cannot have a body, whatever its headers say. */
  readonly body: 'none' | 'length' | 'chunked' | 'until-close'
  /** Only for `length`. */
  readonly bytes: number
  /** May the next request use the same connection? */
  readonly isKept: boolean
  /** After how many seconds the server closes an idle connection, if it says so. */
  readonly keptForS: number | null
}

/** What the head says about its body; a text says why it cannot be trusted. Pure. */
export function framingOf(head: ResponseHead, method: string): Framing | string {
  const { status, isOld, pairs } = head
  let { isOdd } = head
  let length: number | null = null
  let lengthHeaders = 0
  let transfer: string | null = null
  let connection = ''
  let keptForS: number | null = null
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const value = pairs[i + 1] ?? ''
    switch (pairs[i]) {
      case 'content-length': {
        const next = lengthIn(value)
        if (next === 'conflict' || (length !== null && next !== null && next !== length))
          return 'the length of the body is given twice, with different values'
        // Browsers ignore a length that is not a number, and read until the connection is closed.
        if (next === null || ++lengthHeaders > 1 || value.includes(',')) isOdd = true
        length = next ?? length
        break
      }
      case 'transfer-encoding':
        transfer = transfer === null ? value : `${transfer}, ${value}`
        break
      case 'connection':
        connection += ` ${value.toLowerCase()}`
        break
      case 'keep-alive':
        keptForS = secondsIn(value)
        break
    }
  }
  const isHead = method === 'HEAD'
  const isBare = isHead || status === 204 || status === 304
  const stays = isOld ? connection.includes('keep-alive') : !connection.includes('close')
  if (isBare) return { body: 'none', bytes: 0, isKept: stays && !isOdd && !isHead, keptForS }
  if (transfer !== null) {
    const codings = codingsIn(transfer)
    if (codings.includes('chunked')) {
      // A length together with chunks, or chunks in HTTP/1.0: whoever reads only one of the two sees another end.
      const isPlain = codings.length === 1 && length === null && !isOld
      return { body: 'chunked', bytes: 0, isKept: stays && isPlain && !isOdd, keptForS }
    }
    if (transfer.toLowerCase().includes('chunked')) return `Transfer-Encoding: ${transfer.slice(0, 60)}`
    isOdd = true
  }
  if (length === null) return { body: 'until-close', bytes: 0, isKept: false, keptForS: null }
  return { body: 'length', bytes: length, isKept: stays && !isOdd, keptForS }
}

/** The codings of a Transfer-Encoding header, in lower case. */
export function codingsIn(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** `5`, or `5, 5` where something joined two headers; null: not a number. */
function lengthIn(value: string): number | null | 'conflict' {
  if (/^\d{1,15}$/.test(value)) return Number(value)
  if (!value.includes(',')) return null
  const lengths = value.split(',').map((one) => lengthIn(one.trim()))
  const [first = null] = lengths
  return lengths.every((one) => one === first) ? first : 'conflict'
}

function secondsIn(keepAlive: string): number | null {
  const found = /timeout=(\d{1,9})/i.exec(keepAlive)
  return found === null ? null : Number(found[1])
}
