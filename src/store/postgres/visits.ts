import type { CrawlId } from '../../frontier/frontier.js'
import type { Fingerprint } from '../../url/link.js'
import { compareLease } from '../judge.js'
import { rowReader } from '../row-reader.js'
import type { ConfirmedRecord } from '../rows.js'
import type { LastVisit, VisitCounts, VisitRow, Visits } from '../visits.js'
import { numbers, signed, texts } from './array-text.js'
import type { Pg } from './pg.js'
import { millis } from './read-statements.js'

/** The columns of a visit as arrays come, in order. */
const VISIT_TYPES = {
  ...{ spider: 'text', fp: 'bigint', gen: 'bigint', epoch: 'bigint', at: 'float8', url: 'text', etag: 'text' },
  ...{ last_modified: 'text', body_hash: 'bytea', read_as: 'bytea', page: 'text', memo: 'bytea', crawl: 'text' },
  ...{ result: 'text' },
} as const
const NAMES = Object.keys(VISIT_TYPES)

/** Answers what COUNT of the batch asks of a record, as the upsert does. */
export const confirmSql = (first: number) => `
  UPDATE shoal.records AS r SET crawl = i.crawl, last_crawl = r.crawl, gen = i.gen, epoch = i.epoch,
    scraped_at = to_timestamp(i.scraped_at / 1000), last_write = CASE WHEN (r.gen, r.epoch) = (i.gen, i.epoch) THEN 3 ELSE 2 END
  FROM jsonb_to_recordset($${first}) AS i (spider text, site text, kind text, key text, crawl text, gen bigint, epoch bigint, scraped_at float8)
  WHERE r.spider = i.spider AND r.kind = i.kind AND r.key = i.key AND r.site = i.site AND (r.gen, r.epoch) <= (i.gen, i.epoch)
  RETURNING r.spider, r.kind, r.crawl, r.last_crawl, r.last_write`

export const visitSql = (first: number) => `
  INSERT INTO shoal.visits AS v (${NAMES.join(', ')}, repeated)
  SELECT ${NAMES.map((name) => (name === 'at' ? 'to_timestamp(at / 1000)' : name)).join(', ')}, false
  FROM unnest(${Object.values(VISIT_TYPES)
    .map((type, nth) => `$${first + nth}::${type}[]`)
    .join(', ')}) AS i (${NAMES.join(', ')})
  ON CONFLICT (spider, fp) DO UPDATE SET
    ${NAMES.filter((name) => name !== 'spider' && name !== 'fp')
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}, repeated = (v.gen, v.epoch) = (excluded.gen, excluded.epoch)
  WHERE (excluded.gen, excluded.epoch) >= (v.gen, v.epoch)
  RETURNING crawl, result, repeated`

/** In a slot of this connection, as the counts of records are. */
export const countVisitsSql = (visited: string) => `
  INSERT INTO shoal.visit_counts AS c (crawl, slot, first_time, changed, not_modified, same_body)
  SELECT crawl, pg_backend_pid() % 64, count(*) FILTER (WHERE result = 'new'), count(*) FILTER (WHERE result = 'changed'),
    count(*) FILTER (WHERE result = 'notModified'), count(*) FILTER (WHERE result = 'sameBody')
  FROM ${visited} WHERE NOT repeated GROUP BY crawl ORDER BY crawl
  ON CONFLICT (crawl, slot) DO UPDATE SET first_time = c.first_time + excluded.first_time, changed = c.changed + excluded.changed,
    not_modified = c.not_modified + excluded.not_modified, same_body = c.same_body + excluded.same_body`

export function visitValues(confirmed: readonly ConfirmedRecord[], visits: readonly VisitRow[]): (string | null)[] {
  const rows = eachLinkOnce(visits)
  const bytes = (hex: string) => `\\x${hex}`
  return [
    confirmed.length === 0 ? null : `[${[...confirmed].sort(byKey).map(confirmedJson).join(',')}]`,
    texts(rows, (row) => row.spider),
    numbers(rows, (row) => signed(row.fp)),
    numbers(rows, (row) => row.gen),
    numbers(rows, (row) => row.epoch),
    numbers(rows, (row) => row.at),
    texts(rows, (row) => row.url),
    texts(rows, (row) => row.etag),
    texts(rows, (row) => row.lastModified),
    texts(rows, (row) => bytes(row.bodyHash)),
    texts(rows, (row) => bytes(row.readAs)),
    texts(rows, (row) => row.page),
    texts(rows, (row) => bytes(Buffer.from(row.memo).toString('hex'))),
    texts(rows, (row) => row.crawl),
    texts(rows, (row) => row.result),
  ]
}

/** One statement cannot touch a row twice: the newest lease stays. In the same order for every writer. */
function eachLinkOnce(visits: readonly VisitRow[]): VisitRow[] {
  const rows = new Map<string, VisitRow>()
  for (const row of visits) {
    const id = `${row.spider}\n${row.fp}`
    const before = rows.get(id)
    if (before === undefined || compareLease(before, row) <= 0) rows.set(id, row)
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function byKey(a: ConfirmedRecord, b: ConfirmedRecord): number {
  const [x, y] = [a, b].map(({ spider, kind, key, site }) => `${spider}\n${kind}\n${key}\n${site}`)
  return (x ?? '') < (y ?? '') ? -1 : 1
}

/** The epoch is larger than a JavaScript number. */
function confirmedJson({ spider, site, kind, key, crawl, gen, epoch, scrapedAt }: ConfirmedRecord): string {
  const plain = JSON.stringify({ spider, site, kind, key, crawl, gen, scraped_at: scrapedAt })
  return `${plain.slice(0, -1)},"epoch":${epoch}}`
}

const toVisit = rowReader<LastVisit>(
  ...(['fp', 'at', 'url', 'etag', 'lastModified', 'bodyHash', 'readAs', 'page', 'memo'] as const),
)

export class PostgresVisits implements Visits {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async last(spider: string, fps: readonly Fingerprint[]): Promise<LastVisit[]> {
    const text = `SELECT lpad(to_hex(fp), 16, '0'), ${millis('at')}, url, etag, last_modified, encode(body_hash, 'hex'), encode(read_as, 'hex'), page, memo
      FROM shoal.visits WHERE spider = $1 AND fp = ANY ($2::bigint[])`
    const values = [spider, `{${fps.map(signed).join(',')}}`]
    return (await this.#pg.query<unknown[]>({ name: 'last-visits', text }, values)).map(toVisit)
  }

  async counts(crawl: CrawlId): Promise<VisitCounts | null> {
    const text = `SELECT sum(first_time)::float8, sum(changed)::float8, sum(not_modified)::float8, sum(same_body)::float8
      FROM shoal.visit_counts WHERE crawl = $1 HAVING count(*) > 0`
    const [row] = await this.#pg.query<[number, number, number, number]>({ name: 'visit-counts', text }, [crawl])
    if (row === undefined) return null
    const [first, changed, notModified, sameBody] = row
    return { new: first, changed, notModified, sameBody }
  }

  async forget(crawl: CrawlId): Promise<void> {
    await this.#pg.query({ name: 'forget-visit-counts', text: 'DELETE FROM shoal.visit_counts WHERE crawl = $1' }, [
      crawl,
    ])
  }
}
