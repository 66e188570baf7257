import type { HostPort } from './address.js'
import type { RedisReply } from './socket.js'

export const SLOTS = 16_384

/** CRC-16/XMODEM, as the Redis Cluster specification has it. */
function crc16(bytes: Buffer): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
    crc &= 0xffff
  }
  return crc
}

/** The text between the first braces of a key, from which a cluster computes its slot; null if there is none. */
function hashTag(key: string): string | null {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : null
}

export function slotOf(key: string): number {
  return crc16(Buffer.from(hashTag(key) ?? key)) % SLOTS
}

/** What other keys begin with so that a cluster puts them on the node of this key. */
export function sameSlotPrefix(key: string): string {
  return hashTag(key) === null ? `{${key}}` : key
}

export interface SlotRange {
  readonly first: number
  readonly last: number
  readonly master: HostPort
}

/** The reply of CLUSTER SLOTS. A node that does not know its own name leaves it empty: it is the one that was asked. */
export function readSlots(reply: RedisReply, asked: HostPort): SlotRange[] {
  if (!Array.isArray(reply)) return []
  return reply.flatMap((range: RedisReply): SlotRange[] => {
    if (!Array.isArray(range)) return []
    const [first, last, master] = range
    if (typeof first !== 'number' || typeof last !== 'number' || !Array.isArray(master)) return []
    const host = String(master[0] ?? '')
    const known = host !== '' && host !== '?'
    return [{ first, last, master: { host: known ? host : asked.host, port: Number(master[1]) } }]
  })
}

/** `MOVED 3999 127.0.0.1:6381`, `ASK 3999 …`: where the call must go instead. */
export function readRedirect(message: string, asked: HostPort): { asking: boolean; to: HostPort } | null {
  const [, kind, host, port] = /^(MOVED|ASK) \d+ (.*):(\d+)/.exec(message) ?? []
  if (kind === undefined) return null
  return { asking: kind === 'ASK', to: { host: host || asked.host, port: Number(port) } }
}
