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

/** The slot of a key: of the text between its first braces, if there is any. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const tagged = open >= 0 && close > open + 1
  return crc16(Buffer.from(tagged ? key.slice(open + 1, close) : key)) % SLOTS
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
