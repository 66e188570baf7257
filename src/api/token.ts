import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const BYTES = 32

export function newToken(): string {
  return randomBytes(BYTES).toString('base64url')
}

/** Compares in constant time, which reveals neither where they differ nor how long the right one is. */
export function tokenCheck(token: string): (given: string) => boolean {
  const right = hash(token)
  return (given) => timingSafeEqual(hash(given), right)
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
