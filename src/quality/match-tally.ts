import { addedMatches, type MatchRow } from './match-row.js'
import { EMPTY, typeOf } from './value.js'

/** What a route declares. One object for as long as the spider is loaded: counts are found by it. */
export interface DeclaredRoute {
  readonly name: string
  /** The selectors of its follow rules, in order. */
  readonly rules: readonly string[]
  /** `record.each`: every element that it finds is a record; '': the route has none. */
  readonly each: string
  /** By kind of record. */
  readonly fields: ReadonlyMap<string, readonly DeclaredField[]>
}

export interface DeclaredField {
  readonly name: string
  /** '': a handler fills it. */
  readonly selector: string
}

/** What a page produced, as far as it is counted. */
export interface CountedHarvest {
  readonly records: readonly CountedRecord[]
  readonly rejected: readonly CountedRecord[]
  /** Links found per follow rule. */
  readonly linksByRule?: readonly number[] | undefined
}

interface CountedRecord {
  readonly kind: string
  readonly data: unknown
}

interface Counter {
  seen: number
  matched: number
  example: string
}

/**
 * Counts on how many pages the follow rules, fields and routes of a crawl found something, until the counts are taken. It sees every page, so it
 * only increases numbers: 0.1 µs for a page with two rules and a record of five fields.
 */
export class MatchTally {
  readonly #crawls = new Map<string, Map<DeclaredRoute, RouteCounts>>()
  #left: MatchRow[] = []

  note(crawl: string, route: DeclaredRoute, harvest: CountedHarvest, url: string): void {
    const counts = this.#crawls.get(crawl)?.get(route) ?? this.#begin(crawl, route)
    counts.note(harvest, url)
  }

  #begin(crawl: string, route: DeclaredRoute): RouteCounts {
    const routes = this.#crawls.get(crawl) ?? new Map<DeclaredRoute, RouteCounts>()
    const counts = new RouteCounts(route)
    this.#crawls.set(crawl, routes.set(route, counts))
    return counts
  }

  /** What was counted since the last time, and what was put back. */
  take(): MatchRow[] {
    for (const [crawl, routes] of this.#crawls) {
      for (const counts of routes.values()) this.#left.push(...counts.rows(crawl))
    }
    // A worker that serves one crawl after another keeps none of them.
    this.#crawls.clear()
    const rows = addedMatches(this.#left)
    this.#left = []
    return rows
  }

  /** Puts back what could not be stored, for the next time. */
  leave(rows: readonly MatchRow[]): void {
    this.#left.push(...rows)
  }
}

class RouteCounts {
  readonly #route: DeclaredRoute
  readonly #pages = counter()
  readonly #each = counter()
  readonly #rules: readonly Counter[]
  readonly #kinds = new Map<string, readonly Counter[]>()

  constructor(route: DeclaredRoute) {
    this.#route = route
    this.#rules = route.rules.map(counter)
  }

  note({ records, rejected, linksByRule }: CountedHarvest, url: string): void {
    const produced = records.length + rejected.length > 0
    count(this.#pages, produced, url)
    if (this.#route.each !== '') count(this.#each, produced, url)
    for (let index = 0; index < this.#rules.length; index++) {
      count(this.#rules[index] as Counter, (linksByRule?.[index] ?? 0) > 0, url)
    }
    for (const record of records) this.#noteRecord(record, url)
    for (const record of rejected) this.#noteRecord(record, url)
  }

  #noteRecord({ kind, data }: CountedRecord, url: string): void {
    const declared = this.#route.fields.get(kind)
    if (declared === undefined) return
    const counters = this.#kinds.get(kind) ?? this.#beginKind(kind, declared)
    const values = isObject(data) ? data : NO_VALUES
    for (let index = 0; index < declared.length; index++) {
      const value = values[(declared[index] as DeclaredField).name]
      count(counters[index] as Counter, typeOf(value) !== EMPTY, url)
    }
  }

  #beginKind(kind: string, declared: readonly DeclaredField[]): readonly Counter[] {
    const counters = declared.map(counter)
    this.#kinds.set(kind, counters)
    return counters
  }

  *rows(crawl: string): Generator<MatchRow> {
    const { name: of, rules, each, fields } = this.#route
    yield { crawl, part: 'route', of, name: '', selector: '', ...this.#pages }
    if (each !== '') yield { crawl, part: 'rule', of, name: 'each', selector: each, ...this.#each }
    for (const [index, selector] of rules.entries()) {
      yield { crawl, part: 'rule', of, name: '', selector, ...(this.#rules[index] as Counter) }
    }
    for (const [kind, counters] of this.#kinds) {
      for (const [index, field] of (fields.get(kind) ?? []).entries()) {
        yield { crawl, part: 'field', of: kind, ...field, ...(counters[index] as Counter) }
      }
    }
  }
}

const NO_VALUES: Readonly<Record<string, unknown>> = {}

function counter(): Counter {
  return { seen: 0, matched: 0, example: '' }
}

function count(counts: Counter, isMatch: boolean, url: string): void {
  counts.seen += 1
  if (isMatch) counts.matched += 1
  else if (counts.example === '') counts.example = url
}

function isObject(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
}
