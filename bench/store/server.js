import { readdirSync, readFileSync } from 'node:fs'
import { createJiti } from 'jiti'
import pg from 'pg'

const TICKS_PER_SECOND = 100

/** A private Postgres, started as the tests start it, with its default durability: a commit is on disk. */
export async function startServer(settings = {}) {
  const { startPostgres } = await createJiti(import.meta.url).import('../../test/support/postgres-server.ts')
  return startPostgres({ durable: true, settings })
}

/** A connection for what is not measured. */
export async function connect(address) {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  return client
}

export async function withClient(address, work) {
  const client = await connect(address)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Microseconds of CPU of the server: of its current processes, and of those that have ended. */
export function serverCpuUs(postmaster) {
  let sum = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const { parent, endedTicks } = statOf(name)
      const here = Number(name) === postmaster
      if (here) sum += (endedTicks / TICKS_PER_SECOND) * 1e6
      if (here || parent === postmaster) sum += nanoseconds(name) / 1_000
    } catch {
      // Gone since the listing.
    }
  }
  return sum
}

/** Its parent, and the CPU of its children that have ended. */
function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { parent: Number(fields[1]), endedTicks: Number(fields[13]) + Number(fields[14]) }
}

function nanoseconds(pid) {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
}
