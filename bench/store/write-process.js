import { LOOPS } from './loops.js'
import { batchesOf } from './rows.js'
import { connect, serverCpuUs } from './server.js'

/**
 * One contender with its connections. Each message says what to write, and the reply what that took; rows are built before the clock starts.
 * Task: { contender, address, postmaster, writers, batch, bytes }; message: { count, from, stride, of, lease, content, fetches }.
 */
const task = JSON.parse(process.argv[2])
const loop = await LOOPS[task.contender](task.address, task.writers)
const control = await connect(task.address)

process.on('message', async (slice) => {
  if (slice !== 'end') return process.send(await measure(slice))
  await Promise.all([loop.close(), control.end()])
  process.disconnect()
})
process.once('disconnect', () => process.exit())
process.send('ready')

async function measure(slice) {
  const batches = batchesOf({ ...slice, batch: task.batch, bytes: task.bytes, pick: pickOf(slice) })
  globalThis.gc?.()
  const log = await logBytes()
  const server = serverCpuUs(task.postmaster)
  const own = process.cpuUsage()
  const from = performance.now()
  const written = await writeAll(batches)
  const seconds = (performance.now() - from) / 1_000
  const { user, system } = process.cpuUsage(own)
  if (written !== slice.count) throw new Error(`${task.contender} wrote ${written} of ${slice.count} records`)
  const serverTook = serverCpuUs(task.postmaster) - server
  return {
    perSecond: slice.count / seconds,
    cpuUs: (user + system) / slice.count,
    serverCpuUs: serverTook / slice.count,
    logBytes: ((await logBytes()) - log) / slice.count,
  }
}

/** Of the WAL: after a checkpoint each changed page is written to it as a whole. */
async function logBytes() {
  const { rows } = await control.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes")
  return rows[0].bytes
}

/** Each writer takes the next batch when its last one is committed. */
async function writeAll(batches) {
  const left = batches.values()
  let written = 0
  const writer = async (number) => {
    for (const batch of left) {
      const count = await loop.write(number, batch)
      written += count
    }
  }
  await Promise.all(Array.from({ length: task.writers }, (_, number) => writer(number)))
  return written
}

/** The i-th record of a slice: starting at `from`, or, with a stride, all over the first `of` records, each once. */
function pickOf({ from = 0, stride, of }) {
  return stride === undefined ? (i) => from + i : (i) => ((from + i) * stride) % of
}
