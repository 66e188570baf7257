import { readdirSync, readFileSync } from 'node:fs'
import { createJiti } from 'jiti'
import pg from 'pg'

const TICKS_PER_SECOND = 100

/** A Postgres of our own as the tests start it, with the durability it has by default: a commit is on the disk. */
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

/** Microseconds of CPU of the server: of those of its processes that are there, and of those that have ended. */
export function serverCpuUs(postmaster) {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = statOf(name)
    if (stat === null) continue
    if (Number(name) === postmaster) ticks += stat.own + stat.ofChildren
    else if (stat.parent === postmaster) ticks += stat.own
  }
  return (ticks / TICKS_PER_SECOND) * 1e6
}

function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user, system, userOfChildren, systemOfChildren] = fields.slice(11, 15).map(Number)
    return { parent: Number(fields[1]), own: user + system, ofChildren: userOfChildren + systemOfChildren }
  } catch {
    // Gone since the listing.
    return null
  }
}
