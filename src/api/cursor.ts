import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ShoalError } from '../errors.js'

/**
 * The position in a list: opaque to the caller, and valid for that list only. It is signed, so that no driver ever gets a cursor that
 * someone made up.
 */
export interface Cursors {
  wrap(list: string, place: string): string
  unwrap(list: string, cursor: string): string
}

const SIGNATURE_BYTES = 12

export function createCursors(token: string): Cursors {
  const key = createHash('sha256').update(`cursor\n${token}`).digest()
  const signed = (list: string, place: Buffer) =>
    createHmac('sha256', key).update(`${list}\n`).update(place).digest().subarray(0, SIGNATURE_BYTES)
  return {
    wrap(list, place) {
      const bytes = Buffer.from(place)
      return Buffer.concat([signed(list, bytes), bytes]).toString('base64url')
    },
    unwrap(list, cursor) {
      const bytes = Buffer.from(cursor, 'base64url')
      const place = bytes.subarray(SIGNATURE_BYTES)
      if (bytes.length > SIGNATURE_BYTES && timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), signed(list, place)))
        return place.toString()
      throw new ShoalError('bad_request', 'after: not a cursor of this list', {
        hint: 'Start with the first page, and pass `next` unchanged.',
      })
    },
  }
}
