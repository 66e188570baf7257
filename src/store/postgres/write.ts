import { hash } from 'node:crypto'
import { hostIn } from '../../url/host.js'
import type { Link } from '../../url/link.js'
import { cleanJson, type PreparedBatch, type PreparedRecord, type PreparedRejected, quarantined } from '../prepare.js'
import type { ConfirmedRecord, FetchRow, WriteStatus } from '../record-store.js'
import type { VisitRow } from '../visits.js'
import { numbers, signed, texts } from './array-text.js'
import { ensurePartitions } from './partitions.js'
import type { Pg } from './pg.js'
import { isDataError, isMissingPartition } from './pg-errors.js'
import { visitValues } from './visits.js'
import { COUNT_FRESH, FETCH_COLUMNS, readLastWrite, SKIPPED, WRITE, WRITE_WITH_VISITS } from './write-statement.js'

/** Rows of one statement. More gained nothing, and a transaction that holds many rows keeps other writers of them waiting. */
const MOST_ROWS = 1_000
/** Characters of one statement: the server needs a few times as much memory for it. */
const MOST_CHARS = 8_000_000

/** One status for each record, in order. Durable and whole when it resolves; can be repeated. */
export async function writeBatch(pg: Pg, batch: PreparedBatch): Promise<WriteStatus[]> {
  let placed = false
  let write = writeWhole
  for (;;) {
    try {
      return await write(pg, batch)
    } catch (error) {
      if (isMissingPartition(error) && !placed) {
        await makePartitions(pg, batch)
        placed = true
      } else if (isDataError(error) && write === writeWhole) write = writeWithoutPoison
      else throw error
    }
  }
}

async function makePartitions(pg: Pg, { fetches, records }: PreparedBatch): Promise<void> {
  await ensurePartitions(
    pg,
    'fetches',
    fetches.map(({ at }) => at),
  )
  const versions = records.filter(({ history }) => history).map(changedAt)
  if (versions.length > 0) await ensurePartitions(pg, 'record_versions', versions)
}

/** Nearly always one statement; several share a transaction. */
async function writeWhole(
  pg: Pg,
  { records, rejected, fetches, visits, confirmed }: PreparedBatch,
): Promise<WriteStatus[]> {
  const [first = [], ...others] = statementsOf(records)
  const all = async (on: Pg) => {
    // New for each attempt: the statuses of a transaction that was rolled back do not count.
    const statuses = new Array<WriteStatus>(records.length)
    await writePart(on, first, rejected, fetches, statuses, { visits, confirmed })
    for (const part of others) await writePart(on, part, [], [], statuses)
    return statuses
  }
  return others.length === 0 ? all(pg) : pg.transaction(all)
}

/** A record and its place in the batch. */
interface Placed {
  readonly record: PreparedRecord
  readonly index: number
  readonly json: string
}

/**
 * The records of each statement: sorted by key, so that two writers of the same records take them in the same order, and each key once,
 * because one statement cannot touch a row twice: the second record of a key is judged against the first by the statement after it.
 */
function statementsOf(records: readonly PreparedRecord[]): Placed[][] {
  const rounds: Placed[][] = []
  const times = new Map<string, number>()
  for (const [index, record] of records.entries()) {
    const id = idOf(record)
    const round = times.get(id) ?? 0
    times.set(id, round + 1)
    const placed = { record, index, json: recordJson(record) }
    const there = rounds[round]
    if (there === undefined) rounds.push([placed])
    else there.push(placed)
  }
  return rounds.flatMap((round) => inParts(round.sort(byKey)))
}

function idOf({ spider, kind, key, site }: PreparedRecord): string {
  return `${spider}\n${kind}\n${site}\n${key}`
}

function byKey(a: Placed, b: Placed): number {
  const [x, y] = [a.record, b.record]
  return compare(x.spider, y.spider) || compare(x.kind, y.kind) || compare(x.key, y.key) || compare(x.site, y.site)
}

/** Any order will do, as long as every writer has the same. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function inParts(round: readonly Placed[]): Placed[][] {
  const parts: Placed[][] = []
  let part: Placed[] = []
  let chars = 0
  for (const placed of round) {
    if (part.length === MOST_ROWS || (part.length > 0 && chars + placed.json.length > MOST_CHARS)) {
      parts.push(part)
      part = []
      chars = 0
    }
    part.push(placed)
    chars += placed.json.length
  }
  return part.length === 0 ? parts : [...parts, part]
}

/** What revisited pages produce in addition to their fetch. */
interface Revisited {
  readonly visits: readonly VisitRow[]
  readonly confirmed: readonly ConfirmedRecord[]
}

const NONE_REVISITED: Revisited = { visits: [], confirmed: [] }

async function writePart(
  pg: Pg,
  part: readonly Placed[],
  rejected: readonly PreparedRejected[],
  fetches: readonly FetchRow[],
  statuses: WriteStatus[],
  { visits, confirmed }: Revisited = NONE_REVISITED,
): Promise<void> {
  const revisited = visits.length + confirmed.length
  if (part.length + rejected.length + fetches.length + revisited === 0) return
  const rows = await pg.query<[number]>(revisited === 0 ? WRITE : WRITE_WITH_VISITS, [
    numbered(part),
    arrayOf(rejected.map(rejectedJson)),
    ...fetchColumns(fetches),
    ...(revisited === 0 ? [] : visitValues(confirmed, visits)),
  ])
  for (const [lastWrite] of rows) {
    const { n, status } = readLastWrite(lastWrite)
    const placed = part[n]
    if (placed !== undefined) statuses[placed.index] = status
  }
  if (rows.length < part.length) await judgeSkipped(pg, part, statuses)
}

/** A moment later: a row that was overwritten meanwhile counts as fenced, which it would have been now. */
async function judgeSkipped(pg: Pg, part: readonly Placed[], statuses: WriteStatus[]): Promise<void> {
  const skipped = part.filter(({ index }) => statuses[index] === undefined)
  const fenced = new Set((await pg.query<[number]>(SKIPPED, [numbered(skipped)])).map(([n]) => n))
  for (const [n, { index }] of skipped.entries()) statuses[index] = fenced.has(n) ? 'fenced' : 'fresh'
  const fresh = skipped.filter((_, n) => !fenced.has(n))
  if (fresh.length > 0) await pg.query(COUNT_FRESH, [numbered(fresh)])
}

/**
 * The server refuses something in the batch: the same in one transaction, in halves, until what it refuses is alone. That is quarantined with
 * the server's reason; its neighbours are stored.
 */
async function writeWithoutPoison(pg: Pg, batch: PreparedBatch): Promise<WriteStatus[]> {
  return pg.transaction(async (tx) => {
    const statuses = new Array<WriteStatus>(batch.records.length)
    const refused: PreparedRejected[] = []
    for (const part of statementsOf(batch.records)) {
      await halving(
        tx,
        part,
        (some) => writePart(tx, some, [], [], statuses),
        ({ record, index }, reason) => {
          statuses[index] = 'quarantined'
          refused.push(quarantined(record, record.data, reason))
        },
      )
    }
    await halving(
      tx,
      batch.fetches,
      (some) => writePart(tx, [], [], some, statuses),
      (row, reason) => {
        refused.push(refusedFetch(row, reason))
      },
    )
    await halving(
      tx,
      batch.confirmed,
      (some) => writePart(tx, [], [], [], statuses, { visits: [], confirmed: some }),
      () => {},
    )
    await halving(
      tx,
      batch.visits,
      (some) => writePart(tx, [], [], [], statuses, { visits: some, confirmed: [] }),
      // A page without a stored visit is fetched in full the next time.
      () => {},
    )
    await halving(
      tx,
      [...batch.rejected, ...refused],
      (some) => writePart(tx, [], some, [], statuses),
      async (row, reason) => {
        // Its reason at least is kept, where even its data cannot be.
        const issues = JSON.stringify([{ field: '', message: reason }])
        await writePart(tx, [], [{ ...row, data: 'null', issues, reason: 'quarantined' }], [], statuses)
      },
    )
    return statuses
  })
}

const SAVEPOINT = { name: 'savepoint', text: 'SAVEPOINT part' }
const RELEASE = { name: 'release-savepoint', text: 'RELEASE SAVEPOINT part' }
const ROLL_BACK = { name: 'rollback-savepoint', text: 'ROLLBACK TO SAVEPOINT part' }

async function halving<Item>(
  tx: Pg,
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<void>,
  refuse: (item: Item, reason: string) => void | Promise<void>,
): Promise<void> {
  const [first] = items
  if (first === undefined) return
  await tx.query(SAVEPOINT, [])
  try {
    await write(items)
    await tx.query(RELEASE, [])
  } catch (error) {
    if (!isDataError(error)) throw error
    await tx.query(ROLL_BACK, [])
    if (items.length === 1) return refuse(first, error instanceof Error ? error.message : String(error))
    const middle = items.length >> 1
    await halving(tx, items.slice(0, middle), write, refuse)
    await halving(tx, items.slice(middle), write, refuse)
  }
}

/** A fetch row that the server refuses is kept with the rejected records. */
function refusedFetch(row: FetchRow, reason: string): PreparedRejected {
  const { spider, crawl, host, fp, url, at } = row
  return {
    ...{ spider, crawl, site: host, kind: 'fetch', key: fp, url, scrapedAt: at, reason: 'quarantined' },
    data: cleanJson(JSON.stringify(row)),
    issues: JSON.stringify([{ field: '', message: reason }]),
  }
}

function changedAt({ reparsedAt, scrapedAt }: PreparedRecord): number {
  return reparsedAt ?? scrapedAt
}

/** What its group does not say; the data is JSON text already, and so is the epoch, which is larger than a JavaScript number. */
function recordJson(record: PreparedRecord): string {
  const { site, key, url, data, identity, epoch, scrapedAt, reparsedAt } = record
  const digest = hash('sha256', identity === null ? data : `${identity}\n${data}`).slice(0, 32)
  const text = JSON.stringify
  const domain = hostIn(url)
  return (
    `{"site":${text(site)},"key":${text(key)},"url":${text(url)},"data":${data},"hash":"${digest}","epoch":${epoch},"scraped_at":${scrapedAt}` +
    `${domain === site ? '' : `,"domain":${text(domain)}`}${identity === null ? '' : `,"identity":${text(identity)}`}` +
    `${reparsedAt === undefined ? '' : `,"changed_at":${reparsedAt}`}}`
  )
}

/** Neighbouring rows that share these columns. */
function sameGroup(a: PreparedRecord, b: PreparedRecord): boolean {
  return (
    a.kind === b.kind &&
    a.spider === b.spider &&
    a.crawl === b.crawl &&
    a.gen === b.gen &&
    a.freshMs === b.freshMs &&
    a.history === b.history
  )
}

/** In groups of neighbours: the order of the keys must stay, because it keeps writers from deadlocking. */
function numbered(part: readonly Placed[]): string | null {
  const groups: string[] = []
  for (let start = 0; start < part.length; ) {
    const first = part[start]?.record
    if (first === undefined) break
    const rows: string[] = []
    for (let next = part[start]; next !== undefined && sameGroup(first, next.record); next = part[start + rows.length])
      rows.push(next.json)
    const { spider, kind, crawl, gen, freshMs, history } = first
    const shared = JSON.stringify({ start, spider, kind, crawl, gen, fresh_ms: freshMs, history })
    groups.push(`${shared.slice(0, -1)},"rows":[${rows.join(',')}]}`)
    start += rows.length
  }
  return arrayOf(groups)
}

function arrayOf(rows: readonly string[]): string | null {
  return rows.length === 0 ? null : `[${rows.join(',')}]`
}

function rejectedJson(row: PreparedRejected): string {
  const { spider, site, kind, key, url, data, issues, reason, crawl, scrapedAt } = row
  const plain = JSON.stringify({ spider, site, kind, key, url, reason, crawl, scraped_at: scrapedAt })
  const whole = `${plain.slice(0, -1)},"data":${data},"issues":${issues}`
  return `${whole},"hash":"${hash('sha256', whole).slice(0, 32)}"}`
}

function fetchColumns(rows: readonly FetchRow[]): (string | null)[] {
  if (rows.length === 0) return new Array<null>(FETCH_COLUMNS).fill(null)
  const json = (value: Link | FetchRow['headers']) => (value === null ? null : cleanJson(JSON.stringify(value)))
  return [
    numbers(rows, ({ at }) => at),
    texts(rows, ({ spider }) => spider),
    texts(rows, ({ crawl }) => crawl),
    numbers(rows, ({ fp }) => signed(fp)),
    texts(rows, ({ url }) => url),
    texts(rows, ({ host }) => host),
    texts(rows, ({ route }) => route),
    numbers(rows, ({ depth }) => depth),
    texts(rows, ({ link }) => json(link)),
    numbers(rows, ({ status }) => status),
    numbers(rows, ({ bytes }) => bytes),
    numbers(rows, ({ ms }) => ms),
    numbers(rows, ({ attempt }) => attempt),
    texts(rows, ({ worker }) => worker),
    texts(rows, ({ pool }) => pool),
    texts(rows, ({ error }) => error),
    texts(rows, ({ page }) => page),
    texts(rows, ({ headers }) => json(headers)),
    numbers(rows, ({ gen }) => gen),
    numbers(rows, ({ epoch }) => epoch),
  ]
}
