import { readdirSync } from 'node:fs'
import { scriptOf } from '../../dist/frontier/redis/scripts.js'
import { passThrough } from '../pass-through.js'

const LUA = new URL('../../src/frontier/redis/lua/', import.meta.url)

/** A port in front of a redis-server that counts what is sent: scripts of the queue by their name, everything else by its command. */
export async function countCalls(port) {
  const operations = readdirSync(LUA).flatMap((file) => (file.endsWith('.lua') ? [file.slice(0, -'.lua'.length)] : []))
  const names = new Map(operations.map((name) => [scriptOf(name).sha, name]))
  const counts = new Map()
  const count = (command, first) => {
    const name = command === 'EVALSHA' ? (names.get(first) ?? 'other script') : command
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const server = await passThrough(port, () => commandReader(count))
  return {
    url: `redis://127.0.0.1:${server.port}`,
    /** So far. */
    counts: () => new Map(counts),
    bytes: server.bytes,
    close: server.close,
  }
}

/** Feeds on the bytes of one connection and calls `onCommand` with the first two words of each command. */
function commandReader(onCommand) {
  let rest = Buffer.alloc(0)
  let missing = 0
  let words = []
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    let at = 0
    for (;;) {
      const end = rest.indexOf('\r\n', at)
      if (end < 0) break
      const length = Number(rest.toString('latin1', at + 1, end))
      if (rest[at] === 0x2a) {
        missing = length
        words = []
        at = end + 2
        continue
      }
      const next = end + 2 + length + 2
      if (next > rest.length) break
      if (words.length < 2) words.push(rest.toString('latin1', end + 2, end + 2 + length))
      missing--
      if (missing === 0) onCommand(words[0].toUpperCase(), words[1] ?? '')
      at = next
    }
    rest = rest.subarray(at)
  }
}
