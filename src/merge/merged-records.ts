import type { Entities, IdentifiedRecord } from '../store/entities.js'
import type { StoredRecord } from '../store/record-store.js'
import type { MergeRules } from './merge-records.js'
import { Merging, type Source } from './merge-records.js'

/**
 * One record for each entity: its key is the identity; site, page and crawl are those of the newest of its records, and its times the
 * widest of all of them. A record without an identity is an entity of its own, under its own key.
 */
export interface MergedRecord extends StoredRecord {
  readonly identity: string | null
  readonly provenance: Readonly<Record<string, Source>>
  readonly sources: readonly Source[]
  readonly count: number
}

export interface MergeQuery {
  readonly spider: string
  readonly kind: string
  readonly rules: MergeRules
  /** Only this one. */
  readonly identity?: string
}

/** In order of identity, those without one at the end. Merged while it reads, in the memory of one record. */
export async function* mergedRecords(
  entities: Entities,
  { spider, kind, rules, identity }: MergeQuery,
): AsyncGenerator<MergedRecord> {
  const query = { spider, kind, ...(identity === undefined ? {} : { identity }) }
  let current: Entity | null = null
  for await (const record of entities.scan(query)) {
    if (current !== null && current.identity !== record.identity) {
      yield current.merged()
      current = null
    }
    current ??= new Entity(record, rules)
    current.add(record)
  }
  if (current !== null) yield current.merged()
  if (identity !== undefined) return
  for await (const record of entities.scan({ spider, kind, identity: null })) {
    const alone = new Entity(record, rules)
    alone.add(record)
    yield alone.merged()
  }
}

class Entity {
  readonly identity: string | null
  readonly #merging: Merging
  #about: StoredRecord

  constructor(first: IdentifiedRecord, rules: MergeRules) {
    this.identity = first.identity
    this.#about = first
    this.#merging = new Merging(rules)
  }

  add(record: StoredRecord): void {
    this.#merging.add(record)
    const { crawl, scrapedAt, firstSeenAt, updatedAt } = this.#about
    this.#about = {
      ...record,
      crawl: (record.scrapedAt - scrapedAt || Number(record.crawl > crawl)) > 0 ? record.crawl : crawl,
      scrapedAt: Math.max(record.scrapedAt, scrapedAt),
      firstSeenAt: Math.min(record.firstSeenAt, firstSeenAt),
      updatedAt: Math.max(record.updatedAt, updatedAt),
      data: null,
    }
  }

  merged(): MergedRecord {
    const { spider, kind, key, site, url, crawl, scrapedAt, firstSeenAt, updatedAt } = this.#about
    const { data, provenance, sources, count } = this.#merging.result()
    const newest = sources[0]
    return {
      spider,
      site: newest?.site ?? site,
      kind,
      key: this.identity ?? key,
      url: newest?.url ?? url,
      data,
      crawl,
      scrapedAt,
      firstSeenAt,
      updatedAt,
      identity: this.identity,
      provenance,
      sources,
      count,
    }
  }
}
