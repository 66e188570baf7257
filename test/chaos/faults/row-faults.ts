import { setTimeout as sleep } from 'node:timers/promises'
import type { Violation } from '../checker.js'
import type { Scenario } from '../run-scenario.js'
import type { World } from '../world.js'
import { inStore, postgresOf } from './postgres-faults.js'

/** Rows that collide, and rows that Postgres does not take. */

const SHARED = 12
const DEADLOCKS = 5
const DEADLOCK = '40P01'

/** Records that all pages of a host write, one half of the pages up and the other down. */
const SHARED_RECORDS = {
  kinds: ['shared'],
  handler: `(page, out) => {
        const id = Number(/<h1>(\\d+)/.exec(page.text)[1])
        const keys = Array.from({ length: ${SHARED} }, (_, index) => index)
        if (id % 2 === 1) keys.reverse()
        for (const key of keys) out.record('shared', key, { id })
      }`,
}

const DEADLOCKED: Scenario = {
  id: 'X29',
  title: 'writers of the same rows in both orders, and one that is not Shoal and takes them in reverse',
  needsRedis: true,
  needsPostgres: true,
  pages: 4_000,
  site: { hosts: 20 },
  more: SHARED_RECORDS,
  injects: ['deadlock'],
  async inject(world) {
    await world.until(0.1)
    const enough = async () => (await deadlocks(world)) >= DEADLOCKS || (await world.stats())?.state === 'finished'
    while (!(await enough())) await lockInReverse(world)
    world.count('deadlock', await deadlocks(world))
  },
  async judge(world, { history }) {
    const failed = history.filter(({ op, phase }) => op === 'write' && phase === 'info').length
    world.figure('writes that a deadlock failed', failed)
    const [row] = await postgresOf(world).query(
      "SELECT count(*)::int AS n FROM shoal.records WHERE kind = 'shared'",
      nameOf(world),
    )
    const expected = SHARED * world.site.site.options.hosts
    world.figure('shared rows', `${row?.n} of ${expected}`)
    const violations: Violation[] =
      failed > 0 ? [{ invariant: 'I7', detail: `${failed} writes failed by deadlocks` }] : []
    if (row?.n !== expected) violations.push({ invariant: 'I1', detail: `${row?.n} shared rows of ${expected}` })
    return violations
  },
}

function nameOf({ store }: World): string {
  return new URL(store).pathname.slice(1)
}

async function deadlocks(world: World): Promise<number> {
  const [row] = await postgresOf(world).query(
    `SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = '${nameOf(world)}'`,
  )
  return Number(row?.n ?? 0)
}

/** Lets the others find the deadlock: who looks first is its victim, and each looks once in its wait, after a second. */
async function lockInReverse(world: World): Promise<void> {
  await inStore(world, async (client) => {
    await client.query('BEGIN')
    await client.query("SET LOCAL deadlock_timeout = '3s'")
    const rows = "SELECT site, key FROM shoal.records WHERE spider = 'chaos' AND kind = 'shared'"
    const found = await client.query<{ site: string; key: string }>(`${rows} ORDER BY key DESC, site DESC LIMIT 30`)
    try {
      for (const { site, key } of found.rows) {
        await client.query(`${rows} AND site = $1 AND key = $2 FOR UPDATE`, [site, key])
        await sleep(5)
      }
    } catch (error) {
      if ((error as { code?: unknown }).code !== DEADLOCK) throw error
    }
    await client.query('ROLLBACK')
  })
}

const ODD_EVERY = 40

/** By turns: what is cleaned, what no database can keep, and what this database does not want. */
const ODD_RECORDS = {
  kinds: ['odd'],
  handler: `(page, out) => {
        const id = Number(/<h1>(\\d+)/.exec(page.text)[1])
        if (id % ${ODD_EVERY} !== 0) return
        let deep = 'deep'
        for (let level = 0; level < 60_000; level++) deep = { deep }
        const odd = [
          { text: 'NUL \\0 and half a pair \\ud800' },
          { number: 1e308 * 10, text: 'x'.repeat(3_000) },
          { deep },
          { trap: true },
          { text: 'x'.repeat(300_000) },
        ]
        const kind = (id / ${ODD_EVERY}) % odd.length
        out.record('odd', kind === 1 ? id + '-'.repeat(3_000) : id, odd[kind])
      }`,
}

const POISONED: Scenario = {
  id: 'X30',
  title: 'records among others that cannot be stored',
  needsRedis: true,
  needsPostgres: true,
  more: ODD_RECORDS,
  injects: ['record that cannot be stored'],
  async inject(world) {
    // Somebody's own constraint: the server is the first to know that a row breaks it.
    await inStore(world, (client) =>
      client.query("ALTER TABLE shoal.records ADD CONSTRAINT no_traps CHECK (NOT data ? 'trap')"),
    )
    await world.until(0.95)
    const [row] = await postgresOf(world).query(
      "SELECT count(*)::int AS n FROM shoal.rejected WHERE kind = 'odd'",
      nameOf(world),
    )
    world.count('record that cannot be stored', Number(row?.n))
  },
  async judge(world) {
    const ask = async (sql: string) => postgresOf(world).query(sql, nameOf(world))
    const stored = await ask("SELECT count(*)::int AS n FROM shoal.records WHERE kind = 'odd'")
    const kept = await ask(
      "SELECT issues->0->>'message' AS why, count(*)::int AS n FROM shoal.rejected WHERE kind = 'odd' AND reason = 'quarantined' GROUP BY 1 ORDER BY 1",
    )
    const expected = oddPages(world)
    const quarantined = kept.reduce((sum, { n }) => sum + Number(n), 0)
    world.figure('odd records stored', `${stored[0]?.n} of ${expected.storable}`)
    world.figure('quarantined', `${quarantined} of ${expected.not}`)
    for (const { why, n } of kept) world.figure(`  ${String(why).slice(0, 40)}`, Number(n))
    const violations: Violation[] = []
    if (stored[0]?.n !== expected.storable)
      violations.push({ invariant: 'I1', detail: `${stored[0]?.n} odd records of ${expected.storable}` })
    if (quarantined !== expected.not)
      violations.push({ invariant: 'I1', detail: `${quarantined} records in quarantine of ${expected.not}` })
    return violations
  },
}

/** Of the pages that a crawl reads. */
function oddPages({ site: { site } }: World): { storable: number; not: number } {
  const counts = { storable: 0, not: 0 }
  const pages = new Set<number>()
  for (const { page, end } of site.urls.values()) if (end === 'record') pages.add(page)
  for (const page of pages) {
    if (page % ODD_EVERY !== 0) continue
    counts[(page / ODD_EVERY) % 5 < 2 ? 'storable' : 'not']++
  }
  return counts
}

export const ROW_FAULTS: readonly Scenario[] = [DEADLOCKED, POISONED]
