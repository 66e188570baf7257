import type { StandardSchemaV1 } from '@standard-schema/spec'
import { spiderError } from '../error-place.js'
import { describeError, type ErrorCode, isShoalError, ShoalError } from '../errors.js'
import { jsonCopy, NotJson, remainsOf, structureCopy } from '../json/copy.js'
import { pathText } from '../options.js'
import { textOf } from '../thrown.js'
import { shown } from '../units.js'
import { isAbsolute } from '../url/base.js'
import { encodeQuery } from '../url/encode-query.js'
import type { Json } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import type { FollowOptions, Out, RecordDefinitions, Step } from './definition.js'
import { linkOptions } from './link-options.js'
import { notesOf, type Page } from './page.js'
import { baseOf } from './page-base.js'
import { linksToPages } from './pages-rule.js'
import type { FoundLink, Harvest, HarvestedRecord, RecordKind, RejectedHarvest } from './spider.js'

/** A compiled route: what runHandler needs. */
export interface HandlerPlan {
  readonly route: string
  readonly routes: ReadonlySet<string>
  readonly kinds: ReadonlyMap<string, Pick<RecordKind, 'schema'>>
  readonly data: StandardSchemaV1 | null
  /**
   * Link rules and the fields of each record in one pass over the page, or only the fields (`links` null); null if the route has neither. Without
   * `each` there is one record. A promise only for Markdown.
   */
  readonly extract: ((page: Page, links: CollectedLinks | null) => Maybe<readonly Fields[]>) | null
  /** Follow the other pages of a list; null: no. */
  readonly pages: { readonly max: number; readonly route: string } | null
  /** Of the records that are built from the fields; their keys are in the field `key`, see keyOf(). */
  readonly record: { readonly kind: string; readonly key: string | null; readonly each: boolean } | null
  readonly steps: readonly Step[]
  readonly handler: UserHandler | null
}

export type UserHandler = (
  page: Page,
  out: Out<Readonly<Record<string, unknown>>, RecordDefinitions>,
) => void | Promise<void>

/** What the follow rules of a route add to. */
interface CollectedLinks {
  readonly links: FoundLink[]
  linksByRule?: readonly number[] | undefined
}

interface Basket extends CollectedLinks {
  readonly records: HarvestedRecord[]
  readonly rejected: RejectedHarvest[]
}

/** A record on its way through steps and schema. */
interface Draft {
  readonly kind: string
  readonly key: string
  readonly data: unknown
  /** The data is JSON, and nobody outside has a reference to it. */
  readonly isJson: boolean
}

type Maybe<Value> = Value | Promise<Value>
type Fields = Readonly<Record<string, Json>>
const NO_FIELDS: readonly Fields[] = []

/** A promise costs a turn of the event loop on every page, so each stage continues immediately if the previous one was synchronous. */
function then<In, Result>(value: Maybe<In>, next: (value: In) => Maybe<Result>): Maybe<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export function runHandler(plan: HandlerPlan, page: Page, ruleLinks = true): Maybe<Harvest> {
  const checked = plan.data === null ? undefined : checkData(plan, plan.data, page)
  return checked === undefined ? gather(plan, page, ruleLinks) : checked.then(() => gather(plan, page, ruleLinks))
}

function gather(plan: HandlerPlan, page: Page, ruleLinks: boolean): Maybe<Harvest> {
  const basket: Basket = { records: [], rejected: [], links: [], linksByRule: undefined }
  const records = plan.extract === null ? NO_FIELDS : plan.extract(page, ruleLinks ? basket : null)
  return then(records, (ready) => handle(plan, page, ruleLinks, ready, basket))
}

function handle(
  plan: HandlerPlan,
  page: Page,
  ruleLinks: boolean,
  records: readonly Fields[],
  basket: Basket,
): Maybe<Harvest> {
  const found: Draft[] = []
  for (let index = 0; index < records.length && plan.record !== null; index++) {
    const fields = records[index] as Fields
    const key = keyOf(plan.record, fields, page, index)
    // Values by path are parts of the page's JSON, which the handler may change.
    const data = plan.handler === null ? fields : jsonCopy(fields)
    found.push({ kind: plan.record.kind, key: isKey(key) ? String(key) : '', data, isJson: true })
  }
  if (plan.pages !== null && ruleLinks) basket.links.push(...linksToPages(page, plan.pages))
  if (plan.handler === null) return finish(plan, page, found, basket)
  const out = collect(plan, page, found, basket)
  const ended = userCode(() => plan.handler?.(page, out))
  return then(ended, () => {
    out.end()
    return finish(plan, page, found, basket)
  })
}

/** Without a key field the page is the key; of several records of a page, its URL and their position, from 1. */
function keyOf(
  { key, each }: NonNullable<HandlerPlan['record']>,
  fields: Fields,
  { url }: Page,
  index: number,
): unknown {
  if (key !== null) return fields[key]
  return each ? `${url}#${index + 1}` : url
}

/** Steps, then the schema: what is stored always matches it. */
function finish(plan: HandlerPlan, page: Page, found: readonly Draft[], basket: Basket, from = 0): Maybe<Harvest> {
  for (let index = from; index < found.length; index++) {
    const draft = found[index] as Draft
    const kept =
      plan.steps.length === 0
        ? judge(plan, draft, basket)
        : then(applySteps(plan, page, draft), (changed) =>
            changed === null ? undefined : judge(plan, changed, basket),
          )
    if (kept instanceof Promise) return kept.then(() => finish(plan, page, found, basket, index + 1))
  }
  const notes = notesOf(page)
  return notes === null ? basket : { ...basket, logs: notes.lines, counts: notes.end() }
}

function applySteps(plan: HandlerPlan, page: Page, draft: Draft, from = 0): Maybe<Draft | null> {
  let current = draft
  for (let index = from; index < plan.steps.length; index++) {
    const step = plan.steps[index] as Step
    const { kind, key, data } = current
    const result: Maybe<unknown> = userCode(() => step({ kind, key, data } as Parameters<Step>[0], page))
    if (result instanceof Promise)
      return result.then((late) => (late === null ? null : applySteps(plan, page, stepped(plan, late), index + 1)))
    if (result === null) return null
    current = stepped(plan, result)
  }
  return current
}

function stepped(plan: HandlerPlan, result: unknown): Draft {
  return blamed(() => {
    const record = result as Partial<HarvestedRecord> | undefined
    if (typeof record !== 'object' || typeof record.kind !== 'string')
      throw misuse('a step must return a record { kind, key, data } or null')
    return { ...checkedRecord(plan, 'a step', record.kind, record.key, record.data), isJson: false }
  })
}

/** Adds the record to the kept or the rejected ones. */
function judge(plan: HandlerPlan, draft: Draft, basket: Basket): Maybe<void> {
  const schema = schemaOf(plan, draft.kind)
  if (schema === null) return place(plan, { value: draft.data, issues: null }, draft, basket)
  const result = validate(schema, draft.data)
  return then(result, (judged) => place(plan, judged, draft, basket))
}

function schemaOf(plan: HandlerPlan, kind: string): StandardSchemaV1 | null {
  return plan.kinds.get(kind)?.schema ?? null
}

function place(plan: HandlerPlan, { value, issues }: Judged, draft: Draft, basket: Basket): void {
  const { kind, key } = draft
  const problems = [...(issues ?? [])]
  let data: Json | undefined
  try {
    // The output of a schema is what the user's code made, like everything else.
    if (issues === null) data = draft.isJson && value === draft.data ? (value as Json) : jsonCopy(value)
  } catch (error) {
    const issues = [issueOf(error)]
    basket.rejected.push({ kind, key, data: keptData(draft), issues, reason: 'quarantined' })
    return
  }
  const keyField = plan.record?.key ?? 'key'
  if (key === '' && !problems.some(({ field }) => field === keyField)) {
    problems.push({ field: keyField, message: 'the key is missing on the page' })
  }
  if (data !== undefined && problems.length === 0) basket.records.push({ kind, key, data })
  else basket.rejected.push({ kind, key, data: keptData(draft), issues: problems })
}

/** What can be kept of the data of a rejected record. */
function keptData({ data, isJson }: Draft): Json {
  try {
    return isJson ? (data as Json) : jsonCopy(data)
  } catch {
    return remainsOf(data)
  }
}

function issueOf(error: unknown): RejectedHarvest['issues'][number] {
  return error instanceof NotJson
    ? { field: error.path, message: `not JSON: ${error.path === '' ? 'it ' : ''}${error.reason}` }
    : { field: '', message: textOf(error) }
}

function plainIssue(issue: StandardSchemaV1.Issue): { field: string; message: string } {
  const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  const message: unknown = issue.message
  return { field: pathText(path), message: typeof message === 'string' ? message : 'does not match the schema' }
}

/** Undefined if it matches; a promise if the schema is asynchronous. */
function checkData(plan: HandlerPlan, schema: StandardSchemaV1, page: Page): Promise<void> | undefined {
  const judgeData = ({ issues }: Judged): undefined => {
    const issue = issues?.[0]
    if (issue === undefined) return
    const { field, message } = issue
    throw misuse(
      `the link's data does not match the schema of route '${plan.route}': ${field === '' ? '' : `${field}: `}${message}`,
    )
  }
  const result = validate(schema, page.data)
  return result instanceof Promise ? result.then(judgeData) : judgeData(result)
}

/** The `out` of one page. Untyped callers make mistakes the compiler would have caught, so it validates its arguments. */
function collect(plan: HandlerPlan, page: Page, found: Draft[], { links, rejected }: Basket) {
  let ended = false
  const stillOpen = () => {
    if (ended) throw misuse('out was used after the handler had ended: await what the handler starts')
  }
  let base: string | null | undefined
  /** What a browser would make of the link. The filter, which does not know the base, resolves what is still relative against the page's URL. */
  const asOnPage = (href: string): string => {
    const encoded = encodeQuery(href, page)
    if (isAbsolute(encoded)) return encoded
    if (base === undefined) base = baseOf(page)
    if (base === null) return encoded
    const url = parseUrl(encoded, base)
    if (url !== null) return url.href
    // It leads nowhere. The filter refuses either, and counts it: `//[` is no URL on any page, and `mailto:`, where `a` leads nowhere, is no page.
    return isAbsolute(base) ? encoded : base
  }
  return {
    record(kind: string, key: unknown, data: unknown): void {
      stillOpen()
      const record = checkedRecord(plan, 'out.record', kind, key, data)
      // Steps and schemas may want to see dates and maps. Without them this copy is the last one.
      const isJson = plan.steps.length === 0 && schemaOf(plan, kind) === null
      try {
        found.push({ ...record, data: isJson ? jsonCopy(data) : structureCopy(data), isJson })
      } catch (error) {
        rejected.push({ ...record, data: remainsOf(data), issues: [issueOf(error)], reason: 'quarantined' })
      }
    },
    follow(href: string, options?: FollowOptions<Readonly<Record<string, unknown>>>): void {
      stillOpen()
      if (typeof href !== 'string') throw misuse(`out.follow: the link must be a string, not ${shown(href)}`)
      const target = asOnPage(href)
      links.push(options === undefined ? { href: target } : foundLink(plan, target, options))
    },
    end(): void {
      ended = true
    },
  }
}

function checkedRecord(
  plan: HandlerPlan,
  where: string,
  kind: string,
  key: unknown,
  data: unknown,
): Omit<Draft, 'isJson'> {
  if (!plan.kinds.has(kind))
    throw misuse(
      `${where}: there is no record kind ${shown(kind)} (there is: ${[...plan.kinds.keys()].join(', ') || 'none'})`,
    )
  if (isRounded(key))
    throw misuse(
      `${where}: the key ${key} is a number over 2^53, which has probably lost digits: take it from page.losslessJson`,
    )
  if (!isKey(key))
    throw misuse(`${where}: the key of a record must be a non-empty string or a number, not ${shown(key)}`)
  if (typeof data !== 'object' || data === null)
    throw misuse(`${where}: the data of a record must be an object, not ${shown(data)}`)
  return { kind, key: String(key), data }
}

function foundLink(
  plan: HandlerPlan,
  href: string,
  options: FollowOptions<Readonly<Record<string, unknown>>>,
): FoundLink {
  const { route, priority } = options
  if (route !== undefined && !plan.routes.has(route))
    throw misuse(`out.follow: there is no route ${shown(route)} (there is: ${[...plan.routes].join(', ')})`)
  if (priority !== undefined && !Number.isFinite(priority))
    throw misuse(`out.follow: priority must be a number, not ${shown(priority)}`)
  return { href, ...linkOptions(options, (message) => misuse(`out.follow: ${message}`)) }
}

function isKey(key: unknown): key is string | number | bigint {
  if (typeof key === 'string') return key !== ''
  return (typeof key === 'number' && Number.isFinite(key) && !isRounded(key)) || typeof key === 'bigint'
}

/** Two ids that differ in their last digits are the same number: as keys they would merge two records. */
function isRounded(key: unknown): key is number {
  return typeof key === 'number' && Number.isInteger(key) && !Number.isSafeInteger(key)
}

/** The answer of a schema: the value, or what is wrong with it. */
interface Judged {
  readonly value: unknown
  readonly issues: RejectedHarvest['issues'] | null
}

function validate(schema: StandardSchemaV1, value: unknown): Maybe<Judged> {
  const result: Maybe<unknown> = userCode(() => schema['~standard'].validate(value))
  return then(result, (given) =>
    blamed(() => {
      if (typeof given !== 'object' || given === null)
        throw misuse(`a schema must answer with a value or with issues, not ${shown(given)}`)
      const { issues, value } = given as {
        readonly value?: unknown
        readonly issues?: readonly StandardSchemaV1.Issue[]
      }
      return { value, issues: issues === undefined ? null : Array.from(issues, plainIssue) }
    }),
  )
}

/** Whatever the user's code throws, now or later, becomes a handler_error. */
export function userCode<Result>(run: () => Maybe<Result>): Maybe<Result> {
  return blamed(() => {
    const result = run()
    return isThenable(result) ? Promise.resolve(result).catch(rethrow) : result
  })
}

function blamed<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    return rethrow(error)
  }
}

function isThenable<Value>(value: Maybe<Value>): value is Promise<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function rethrow(thrown: unknown): never {
  const code = codeOfPage(thrown)
  throw code === null ? spiderError('handler_error', thrown) : spiderError(code, thrown, textOf(thrown))
}

/** Of an error of ours that says something about the page. One about a queue or a command comes from another Shoal that the handler uses. */
function codeOfPage(thrown: unknown): ErrorCode | null {
  if (!isShoalError(thrown)) return null
  const { code } = thrown
  const { next } = describeError(code)
  return next === 'retry' || next === 'dead' ? code : null
}

function misuse(message: string): ShoalError {
  return new ShoalError('handler_error', message)
}
