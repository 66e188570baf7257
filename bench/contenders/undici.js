import { Pool } from 'undici'
import { pathOf } from '../site.js'

// The lower bound: every page of a list that is known beforehand, bodies read, nothing parsed.
const { origin, pages, concurrency } = JSON.parse(process.argv[2])
const pool = new Pool(origin, { connections: concurrency })
let next = 0
let bytes = 0

async function loop() {
  while (next < pages) {
    const { body } = await pool.request({ path: pathOf(next++), method: 'GET' })
    bytes += (await body.arrayBuffer()).byteLength
  }
}

await Promise.all(Array.from({ length: concurrency }, loop))
await pool.close()
console.log(JSON.stringify({ pages: next, bytes }))
