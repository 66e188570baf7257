import { OTHER_FIELDS } from '../../quality/field-row.js'
import type { Json } from '../../url/link.js'
import type { FieldChange, Turn } from './reparse-fields.js'

/** What a reparse found. Partial reports add up to one, which stays small however many pages there are. */
export interface ReparseReport {
  /** Pages processed, whatever the result. */
  pages: number
  /** Pages skipped because their route only follows links. */
  passed: number
  /** Pages whose raw content is missing or damaged. */
  readonly missing: Listed<string>
  /** Pages whose route no longer exists and that matched another one; and those that match none. */
  rerouted: number
  readonly unrouted: Listed<string>
  /** Pages whose handler failed. */
  failed: number
  /** Why; also errors from work that handlers started but did not await. */
  readonly failures: Map<string, Failure>
  readonly kinds: Map<string, KindTally>
  /** Records that a page used to produce and no longer does. */
  readonly gone: Listed<GoneRecord>
  /** Why records were rejected: by kind, field and message. */
  readonly rejections: Map<string, Rejection>
  /** By kind, then by field; in a dry run only. */
  readonly fields: Map<string, Map<string, FieldTally>>
}

/** All are counted, the first ones are listed. */
export interface Listed<Item> {
  count: number
  readonly examples: Item[]
}

interface Failure {
  readonly code: string
  readonly message: string
  count: number
  /** A page that failed this way. */
  readonly url: string | null
}

type FailedPage = Omit<Failure, 'count'>

type Judged = 'written' | 'unchanged' | 'fenced' | 'rejected' | 'gone'
/** `added`: the written ones that are new; known in a dry run only. */
export type KindTally = Record<Judged | 'added', number>

export interface GoneRecord {
  readonly kind: string
  readonly key: string
  readonly url: string
}

/** Records whose schema rejected the same field for the same reason. */
interface Rejection {
  readonly kind: string
  /** '': the record as a whole. */
  readonly field: string
  readonly message: string
  count: number
  /** One of them. */
  readonly key: string
  readonly url: string
}

/** In how many records the field differs, in total and by kind of change. */
export interface FieldTally extends Record<Turn, number> {
  records: number
  readonly examples: FieldExample[]
}

interface FieldExample {
  readonly key: string
  readonly url: string
  /** As JSON, truncated; null where the record does not have the field. */
  readonly before: string | null
  readonly after: string | null
}

const LISTED = 20
const FIELD_EXAMPLES = 3
const VALUE_CHARS = 200
/** Messages may differ from page to page: more than this many are counted together. */
const MOST_FAILURES = 50
const OTHER_FAILURES = 'other errors'
const OTHER_REASONS = 'other reasons'
const MESSAGE_CHARS = 300
/** A handler that builds field names from page content must not fill the memory. */
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
    rejections: new Map(),
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

/** Thrown outside any await, so the page is unknown. */
export function noteStray(report: ReparseReport, message: string): void {
  noteError(report, { code: 'handler_error', message: `not awaited: ${message}`, url: null })
}

function noteError(report: ReparseReport, { code, message, url }: FailedPage): void {
  addFailure(report.failures, { code, message: message.slice(0, MESSAGE_CHARS), count: 1, url })
}

export function noteRejected(report: ReparseReport, { kind, key, url, issues }: RejectedRecordRow): void {
  tallyOf(report, kind).rejected += 1
  for (const { field, message } of issues)
    addRejection(report.rejections, { kind, field, message: message.slice(0, MESSAGE_CHARS), count: 1, key, url })
}

type RejectedRecordRow = GoneRecord & {
  readonly issues: readonly { readonly field: string; readonly message: string }[]
}

function addRejection(rejections: Map<string, Rejection>, rejection: Rejection): void {
  const id = rejectionId(rejection)
  const known = rejections.get(id)
  if (known !== undefined) known.count += rejection.count
  else if (rejections.size < MOST_FAILURES || rejection.message === OTHER_REASONS) rejections.set(id, { ...rejection })
  else addRejection(rejections, { ...rejection, field: '', message: OTHER_REASONS })
}

function rejectionId({ kind, field, message }: Rejection): string {
  return JSON.stringify([kind, field, message])
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
  for (const rejection of from.rejections.values()) addRejection(into.rejections, rejection)
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
