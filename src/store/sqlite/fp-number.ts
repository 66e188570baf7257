import type { Fingerprint } from '../../url/link.js'

/** 64 bits as SQLite keeps them: signed. */
export function fpNumber(fp: Fingerprint): bigint {
  return BigInt.asIntN(64, BigInt(`0x${fp}`))
}
