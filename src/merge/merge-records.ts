import { EMPTY, typeOf } from '../quality/value.js'
import type { StoredRecord } from '../store/record-store.js'
import type { Json } from '../url/link.js'

/** How the records of one entity are merged. Checked and complete; what a user writes is in spider/definition.ts. */
export interface MergeRules {
  /** Field → which record gives it. */
  readonly prefer: ReadonlyMap<string, Preference>
  /** For the other fields. */
  readonly otherwise: Preference
}

/**
 * `newest`: the record that a page showed last. `longest`: the longest text, the list with most items. `sites`: the first of these sites
 * that has it. If a rule decides nothing, the newest record does.
 */
export type Preference = 'newest' | 'longest' | { readonly sites: readonly string[] }

/** Where a value comes from. */
export interface Source {
  readonly site: string
  readonly key: string
  readonly url: string
  /** When a page last showed it. */
  readonly at: number
}

export interface Merged {
  readonly data: Json
  /** Field → the record that gave it. */
  readonly provenance: Readonly<Record<string, Source>>
  /** The newest first, at most MOST_SOURCES. */
  readonly sources: readonly Source[]
  /** How many records there are. */
  readonly count: number
}

export type Member = Pick<StoredRecord, 'site' | 'key' | 'url' | 'data' | 'scrapedAt' | 'updatedAt'>

/** An entity may have thousands of records; a reader wants the first ones. */
export const MOST_SOURCES = 100

/** One record of many. The order in which they come does not matter, nor whether one comes twice. */
export function mergeRecords(members: Iterable<Member>, rules: MergeRules): Merged {
  const merging = new Merging(rules)
  for (const member of members) merging.add(member)
  return merging.result()
}

interface Ranked {
  readonly source: Source
  readonly updatedAt: number
}

interface Candidate extends Ranked {
  readonly value: Json
}

/** The same, one record after the other, in the memory of one record. */
export class Merging {
  readonly #rules: MergeRules
  readonly #fields = new Map<string, Candidate>()
  readonly #sources: Ranked[] = []
  /** The newest record's data: it gives the order of the fields, and the whole where records have no fields. */
  #newest: Candidate | null = null
  #count = 0

  constructor(rules: MergeRules) {
    this.#rules = rules
  }

  add({ site, key, url, data, scrapedAt, updatedAt }: Member): void {
    const ranked = { source: { site, key, url, at: scrapedAt }, updatedAt }
    this.#addSource(ranked)
    const whole = { ...ranked, value: data }
    if (this.#newest === null || isBetterWhole(whole, this.#newest)) this.#newest = whole
    if (!hasFields(data)) return
    for (const [name, value] of Object.entries(data)) {
      const candidate = { ...ranked, value }
      const best = this.#fields.get(name)
      const rule = this.#rules.prefer.get(name) ?? this.#rules.otherwise
      if (best === undefined || compare(candidate, best, rule) < 0) this.#fields.set(name, candidate)
    }
  }

  result(): Merged {
    const whole = this.#newest?.value ?? null
    const first = hasFields(whole) ? Object.keys(whole) : []
    const others = [...this.#fields.keys()].filter((name) => !first.includes(name)).sort()
    const fields = [...first, ...others].flatMap((name) => {
      const candidate = this.#fields.get(name)
      return candidate === undefined ? [] : ([[name, candidate]] as const)
    })
    return {
      data: fields.length === 0 ? whole : Object.fromEntries(fields.map(([name, { value }]) => [name, value])),
      provenance: Object.fromEntries(fields.map(([name, { source }]) => [name, source])),
      sources: this.#sources.map(({ source }) => source),
      count: this.#count,
    }
  }

  #addSource(ranked: Ranked): void {
    const { site, key } = ranked.source
    const known = this.#sources.findIndex(({ source }) => source.site === site && source.key === key)
    if (known === -1) this.#count++
    else if (newerFirst(this.#sources[known] ?? ranked, ranked) <= 0) return
    else this.#sources.splice(known, 1)
    const place = this.#sources.findIndex((other) => newerFirst(ranked, other) < 0)
    this.#sources.splice(place === -1 ? this.#sources.length : place, 0, ranked)
    if (this.#sources.length > MOST_SOURCES) this.#sources.pop()
  }
}

function hasFields(data: Json): data is { readonly [name: string]: Json } {
  return data !== null && typeof data === 'object' && !Array.isArray(data)
}

/** One with fields before one without. */
function isBetterWhole(a: Candidate, b: Candidate): boolean {
  const order = Number(hasFields(b.value)) - Number(hasFields(a.value))
  return (order || newerFirst(a, b)) < 0
}

/** Negative: `a` wins. A value that is not empty wins over one that is. */
function compare(a: Candidate, b: Candidate, rule: Preference): number {
  return (
    Number(isEmpty(a.value)) - Number(isEmpty(b.value)) ||
    (rule === 'newest' ? 0 : rule === 'longest' ? lengthOf(b.value) - lengthOf(a.value) : bySite(a, b, rule.sites)) ||
    newerFirst(a, b)
  )
}

function isEmpty(value: Json): boolean {
  return typeOf(value) === EMPTY
}

function lengthOf(value: Json): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : JSON.stringify(value).length
}

function bySite(a: Candidate, b: Candidate, sites: readonly string[]): number {
  const place = ({ source }: Candidate) => {
    const index = sites.indexOf(source.site)
    return index === -1 ? sites.length : index
  }
  return place(a) - place(b)
}

/** Down to site and key, which no two records of a kind share: there is no tie. */
function newerFirst(a: Ranked, b: Ranked): number {
  return (
    b.source.at - a.source.at ||
    b.updatedAt - a.updatedAt ||
    byText(a.source.site, b.source.site) ||
    byText(a.source.key, b.source.key)
  )
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
