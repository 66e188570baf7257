import { LOOPS } from './loops.js'
import { batchesOf } from './rows.js'
import { serverCpuUs, withClient } from './server.js'

/**
 * One contender writes its steps, one after the other, and tells the figures of each as a line of JSON. The rows are made before the clock starts.
 * Task: { contender, address, postmaster, writers, batch, steps: [{ name, count, from, stride, of, lease, content, fetches, checkpoint }] }
 */
const task = JSON.parse(process.argv[2])
const loop = await LOOPS[task.contender](task.address, task.writers)
const results = {}
for (const step of task.steps) results[step.name] = await measure(step)
await loop.close()
console.log(JSON.stringify(results))

async function measure({ name, checkpoint = true, ...step }) {
  const batches = batchesOf({ ...step, batch: task.batch, bytes: task.bytes, pick: pickOf(step) })
  // Everybody begins with a server that has nothing left to write of whoever came before.
  if (checkpoint) await withClient(task.address, (client) => client.query('CHECKPOINT'))
  globalThis.gc?.()
  const server = serverCpuUs(task.postmaster)
  const own = process.cpuUsage()
  const from = performance.now()
  const written = await writeAll(batches)
  const seconds = (performance.now() - from) / 1_000
  const { user, system } = process.cpuUsage(own)
  if (written !== step.count) throw new Error(`${task.contender} wrote ${written} of ${step.count} records (${name})`)
  return {
    perSecond: step.count / seconds,
    cpuUs: (user + system) / step.count,
    serverCpuUs: (serverCpuUs(task.postmaster) - server) / step.count,
  }
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

/** The i-th record of a step: from `from` on, or, with a stride, all over the first `of` records, each once. */
function pickOf({ from = 0, stride, of }) {
  return stride === undefined ? (i) => from + i : (i) => (from + i * stride) % of
}
