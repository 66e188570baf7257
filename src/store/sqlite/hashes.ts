import type { Fingerprint } from '../../url/link.js'

/** 64 bits as SQLite keeps them: signed. */
export function fpNumber(fp: Fingerprint): bigint {
  return BigInt.asIntN(64, BigInt(`0x${fp}`))
}

/**
 * 53 bits of a URL's text (cyrb53): small index entries, and a number that JavaScript and SQLite agree on. Not a fingerprint: the
 * reader compares the URL itself, so a collision costs one comparison and nothing else.
 */
export function urlHash(url: string): number {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < url.length; i++) {
    const unit = url.charCodeAt(i)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}
