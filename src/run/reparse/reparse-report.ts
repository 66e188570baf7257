import { OTHER_FIELDS } from '../../quality/field-row.js'
import type { Json } from '../../url/link.js'
import type { FieldChange, Turn } from './reparse-fields.js'

/** What a reparse found. Reports of parts add up to one; however many pages there are, it stays small. */
export interface ReparseReport {
  /** Pages gone through, whatever came of them. */
  pages: number
  /** Pages that were not read, because their route only follows links. */
  passed: number
  /** Pages whose raw page is gone or damaged. */
  readonly missing: Listed<string>
  /** Pages whose route the spider has no more, and that another one has taken; and those that none takes. */
  rerouted: number
  readonly unrouted: Listed<string>
  /** Pages whose handler failed. */
  failed: number
  /** Why, and what handlers began and did not wait for. */
  readonly failures: Map<string, Failure>
  readonly kinds: Map<string, KindTally>
  /** Records that a page gave and that it does not give any more. */
  readonly gone: Listed<GoneRecord>
  /** By kind, then by field; only of a dry run. */
  readonly fields: Map<string, Map<string, FieldTally>>
}

/** All are counted, the first ones are named. */
export interface Listed<Item> {
  count: number
  readonly examples: Item[]
}

interface Failure {
  readonly code: string
  readonly message: string
  count: number
  /** Of a page that failed so. */
  readonly url: string | null
}

type FailedPage = Omit<Failure, 'count'>

type Judged = 'written' | 'unchanged' | 'fenced' | 'rejected' | 'gone'
/** `added`: those of the written that are new; known in a dry run only. */
export type KindTally = Record<Judged | 'added', number>

export interface GoneRecord {
  readonly kind: string
  readonly key: string
  readonly url: string
}

/** In how many records the field differs: all of them, and by what became of it. */
export interface FieldTally extends Record<Turn, number> {
  records: number
  readonly examples: FieldExample[]
}

interface FieldExample {
  readonly key: string
  readonly url: string
  /** As JSON, cut short; null where the record does not have the field. */
  readonly before: string | null
  readonly after: string | null
}

const LISTED = 20
const FIELD_EXAMPLES = 3
const VALUE_CHARS = 200
/** Messages that differ from page to page are counted together beyond so many. */
const MOST_FAILURES = 50
const OTHER_FAILURES = 'other errors'
const MESSAGE_CHARS = 300
/** A handler that makes field names of what it finds must not fill the memory. */
const MOST_FIELDS = 200

export function emptyReport(): ReparseReport {
  return {
    pages: 0,
    passed: 0,
    missing: { count: 0, examples: [] },
    rerouted: 0,
    unrouted: { count: 0, examples: [] },
    failed: 0,
    failures: new Map(),
    kinds: new Map(),
    gone: { count: 0, examples: [] },
    fields: new Map(),
  }
}

export function list<Item>(into: Listed<Item>, item: Item): void {
  into.count += 1
  if (into.examples.length < LISTED) into.examples.push(item)
}

export function noteFailure(report: ReparseReport, failure: FailedPage): void {
  report.failed += 1
  noteError(report, failure)
}

/** Thrown where nobody waited for it: nobody knows for which page. */
export function noteStray(report: ReparseReport, message: string): void {
  noteError(report, { code: 'handler_error', message: `not awaited: ${message}`, url: null })
}

function noteError(report: ReparseReport, { code, message, url }: FailedPage): void {
  addFailure(report.failures, { code, message: message.slice(0, MESSAGE_CHARS), count: 1, url })
}

function addFailure(failures: Map<string, Failure>, failure: Failure): void {
  const known = failures.get(failureId(failure))
  if (known !== undefined) known.count += failure.count
  else if (failures.size < MOST_FAILURES) failures.set(failureId(failure), { ...failure })
  else if (failure.message !== OTHER_FAILURES) addFailure(failures, { ...failure, message: OTHER_FAILURES })
  else failures.set(failureId(failure), { ...failure })
}

function failureId({ code, message }: Failure): string {
  return `${code} ${message}`
}

export function tallyOf(report: ReparseReport, kind: string): KindTally {
  return getOrMake(report.kinds, kind, () => ({
    written: 0,
    added: 0,
    unchanged: 0,
    fenced: 0,
    rejected: 0,
    gone: 0,
  }))
}

export function noteChange(
  report: ReparseReport,
  { kind, key, url }: GoneRecord,
  { field, turn, before, after }: FieldChange,
): void {
  const tally = fieldTally(report, kind, field)
  tally.records += 1
  tally[turn] += 1
  if (tally.examples.length < FIELD_EXAMPLES)
    tally.examples.push({ key, url, before: valueText(before), after: valueText(after) })
}

function fieldTally(report: ReparseReport, kind: string, field: string): FieldTally {
  const fields = getOrMake(report.fields, kind, () => new Map<string, FieldTally>())
  const name = fields.has(field) || fields.size < MOST_FIELDS ? field : OTHER_FIELDS
  return getOrMake(fields, name, () => ({ records: 0, filled: 0, emptied: 0, retyped: 0, changed: 0, examples: [] }))
}

function valueText(value: Json | undefined): string | null {
  if (value === undefined) return null
  const text = JSON.stringify(value)
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text
}

export function addReport(into: ReparseReport, from: ReparseReport): void {
  into.pages += from.pages
  into.passed += from.passed
  into.rerouted += from.rerouted
  into.failed += from.failed
  addListed(into.missing, from.missing)
  addListed(into.unrouted, from.unrouted)
  addListed(into.gone, from.gone)
  for (const failure of from.failures.values()) addFailure(into.failures, failure)
  for (const [kind, tally] of from.kinds) addNumbers(tallyOf(into, kind), tally)
  for (const [kind, fields] of from.fields) {
    for (const [field, { examples, ...counts }] of fields) {
      const tally = fieldTally(into, kind, field)
      addNumbers<Turn | 'records'>(tally, counts)
      tally.examples.push(...examples.slice(0, FIELD_EXAMPLES - tally.examples.length))
    }
  }
}

function addListed<Item>(into: Listed<Item>, { count, examples }: Listed<Item>): void {
  into.count += count
  into.examples.push(...examples.slice(0, LISTED - into.examples.length))
}

function addNumbers<Name extends string>(into: Record<Name, number>, from: Readonly<Record<Name, number>>): void {
  for (const name in from) into[name] += from[name]
}

function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
