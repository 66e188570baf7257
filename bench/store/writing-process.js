import { LOOPS } from './loops.js'
import { batchesOf } from './rows.js'

/** A worker that writes batches of records and fetches until a message stops it, and then reports when each write began and how long it took. */
const { address, number, batch } = JSON.parse(process.argv[2])
/** Batches until the same records come again, changed. */
const BATCHES = 20
const loop = await LOOPS.shoal(address, 1)
const writes = []
let stopped = false
process.once('message', () => {
  stopped = true
})
process.once('disconnect', () => process.exit(1))

for (let nth = 0; !stopped; nth++) {
  const lease = Math.floor(nth / BATCHES)
  const from = (number * BATCHES + (nth % BATCHES)) * batch
  const [rows] = batchesOf({ count: batch, batch, lease, content: lease, fetches: true, pick: (i) => from + i })
  const at = Date.now()
  const began = performance.now()
  await loop.write(0, rows)
  writes.push({ at, ms: performance.now() - began })
  if (nth === 0) process.send('writing')
}
await loop.close()
process.send(writes, () => process.disconnect())
