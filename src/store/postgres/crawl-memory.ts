import { z } from 'zod'
import type { CrawlId, CrawlSpec } from '../../frontier/frontier.js'
import type { CrawlNote } from '../record-store.js'
import type { Pg } from './pg.js'
import { millis } from './read-statements.js'

/** What must outlive the queue: generations and marks, notes of crawls, cursors of seeds. */

const LOCK = { name: 'generation-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal.generations'))` }
const FIND = { name: 'find-generation', text: 'SELECT gen::float8 FROM shoal.generations WHERE queue_id = $1' }
const ADD = {
  name: 'add-generation',
  text: `INSERT INTO shoal.generations (queue_id, gen) SELECT $1, coalesce(max(gen), 0) + 1 FROM shoal.generations
    ON CONFLICT (queue_id) DO NOTHING`,
}

export async function generation(pg: Pg, queueIdentity: string): Promise<number> {
  const [[known] = [null]] = await pg.query<[number | null]>(FIND, [queueIdentity])
  if (known !== null) return known
  return pg.transaction(async (tx) => {
    await tx.query(LOCK, [])
    await tx.query(ADD, [queueIdentity])
    const [[gen] = [0]] = await tx.query<[number]>(FIND, [queueIdentity])
    return gen
  })
}

export async function highestMark(pg: Pg, queueIdentity: string): Promise<number> {
  const text = 'SELECT mark::float8 FROM shoal.generations WHERE queue_id = $1'
  const [[mark] = [0]] = await pg.query<[number]>({ name: 'highest-mark', text }, [queueIdentity])
  return mark
}

export async function noteMark(pg: Pg, queueIdentity: string, mark: number): Promise<void> {
  await generation(pg, queueIdentity)
  const text = 'UPDATE shoal.generations SET mark = $2 WHERE queue_id = $1 AND mark < $2'
  await pg.query({ name: 'note-mark', text }, [queueIdentity, mark])
}

export async function renewGeneration(pg: Pg, queueIdentity: string, mark: number): Promise<void> {
  await generation(pg, queueIdentity)
  await pg.transaction(async (tx) => {
    await tx.query(LOCK, [])
    const text = `UPDATE shoal.generations SET mark = 0, gen = (SELECT max(gen) FROM shoal.generations) + 1 WHERE queue_id = $1 AND mark = $2`
    await tx.query({ name: 'renew-generation', text }, [queueIdentity, mark])
  })
}

const NOTE = {
  name: 'note-crawl',
  text: `INSERT INTO shoal.crawl_notes (crawl, spider, queue, queue_id, state, spec, opened_at)
    VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000))
    ON CONFLICT (crawl) DO UPDATE SET spider = excluded.spider, queue = excluded.queue, queue_id = excluded.queue_id,
      state = excluded.state, spec = excluded.spec, opened_at = excluded.opened_at`,
}

export async function noteCrawl(pg: Pg, note: CrawlNote): Promise<void> {
  const { crawl, spider, queue, queueIdentity, state, spec, openedAt } = note
  await pg.query(NOTE, [crawl, spider, queue, queueIdentity, state, JSON.stringify(spec), openedAt])
}

const state = z.enum(['open', 'ended', 'lost'])

export async function crawlNotes(pg: Pg): Promise<CrawlNote[]> {
  const rows = await pg.query<[string, string, string, string, string, CrawlSpec, number]>(
    {
      name: 'crawl-notes',
      text: `SELECT crawl, spider, queue, queue_id, state, spec, ${millis('opened_at')} FROM shoal.crawl_notes ORDER BY opened_at, crawl`,
    },
    [],
  )
  return rows.map(([crawl, spider, queue, queueIdentity, told, spec, openedAt]) => ({
    ...{ crawl, spider, queue, queueIdentity, state: state.parse(told), spec, openedAt },
  }))
}

export async function seedCursor(pg: Pg, crawl: CrawlId, source: string): Promise<number> {
  const text = 'SELECT entries::float8 FROM shoal.seed_cursors WHERE crawl = $1 AND source = $2'
  const [[entries] = [0]] = await pg.query<[number]>({ name: 'seed-cursor', text }, [crawl, source])
  return entries
}

export async function noteSeedCursor(pg: Pg, crawl: CrawlId, source: string, entries: number): Promise<void> {
  const text = `INSERT INTO shoal.seed_cursors (crawl, source, entries) VALUES ($1, $2, $3)
    ON CONFLICT (crawl, source) DO UPDATE SET entries = excluded.entries`
  await pg.query({ name: 'note-seed-cursor', text }, [crawl, source, entries])
}

export async function removeNotes(pg: Pg, crawl: CrawlId): Promise<void> {
  await pg.query({ name: 'remove-note', text: 'DELETE FROM shoal.crawl_notes WHERE crawl = $1' }, [crawl])
  await pg.query({ name: 'remove-cursors', text: 'DELETE FROM shoal.seed_cursors WHERE crawl = $1' }, [crawl])
}
