import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ShoalError } from '../errors.js'
import { pathText } from '../options.js'
import { shown } from '../units.js'
import type { Json } from '../url/link.js'
import type { FollowOptions, Out, RecordDefinitions, Step } from './definition.js'
import { linkOptions } from './link-options.js'
import type { Page } from './page.js'
import { linksToPages } from './pages-rule.js'
import type { FoundLink, Harvest, HarvestedRecord, RecordKind, RejectedHarvest } from './spider.js'

/** A compiled route: what runHandler needs. */
export interface HandlerPlan {
  readonly route: string
  readonly routes: ReadonlySet<string>
  readonly kinds: ReadonlyMap<string, Pick<RecordKind, 'schema'>>
  readonly data: StandardSchemaV1 | null
  /** Link rules and fields in one pass over the page, or only the fields (`links` null); null if the route has neither. */
  readonly extract: ((page: Page, links: FoundLink[] | null) => Readonly<Record<string, Json>> | null) | null
  /** Follow the other pages of a list; null: no. */
  readonly pages: { readonly max: number; readonly route: string } | null
  /** Kind and key field of the record that is built from the fields; without a key field the page's URL is the key. */
  readonly record: { readonly kind: string; readonly key: string | null } | null
  readonly steps: readonly Step[]
  readonly handler: UserHandler | null
}

export type UserHandler = (
  page: Page,
  out: Out<Readonly<Record<string, unknown>>, RecordDefinitions>,
) => void | Promise<void>

interface Basket {
  readonly records: HarvestedRecord[]
  readonly rejected: RejectedHarvest[]
  readonly links: FoundLink[]
}

type Maybe<Value> = Value | Promise<Value>

/** A promise costs a turn of the event loop on every page, so each stage continues immediately if the previous one was synchronous. */
function then<In, Result>(value: Maybe<In>, next: (value: In) => Maybe<Result>): Maybe<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export function runHandler(plan: HandlerPlan, page: Page, ruleLinks = true): Maybe<Harvest> {
  const checked = plan.data === null ? undefined : checkData(plan, plan.data, page)
  return checked === undefined ? gather(plan, page, ruleLinks) : checked.then(() => gather(plan, page, ruleLinks))
}

function gather(plan: HandlerPlan, page: Page, ruleLinks: boolean): Maybe<Harvest> {
  const basket: Basket = { records: [], rejected: [], links: [] }
  const found: HarvestedRecord[] = []
  if (plan.extract !== null) {
    const fields = plan.extract(page, ruleLinks ? basket.links : null)
    if (fields !== null && plan.record !== null) {
      const key = plan.record.key === null ? page.url : fields[plan.record.key]
      found.push({ kind: plan.record.kind, key: isKey(key) ? String(key) : '', data: fields })
    }
  }
  if (plan.pages !== null && ruleLinks) basket.links.push(...linksToPages(page, plan.pages))
  if (plan.handler === null) return finish(plan, page, found, basket)
  const out = collect(plan, found, basket.links)
  const ended = userCode(() => plan.handler?.(page, out))
  return then(ended, () => {
    out.end()
    return finish(plan, page, found, basket)
  })
}

/** Steps, then the schema: what is stored always matches it. */
function finish(
  plan: HandlerPlan,
  page: Page,
  found: readonly HarvestedRecord[],
  basket: Basket,
  from = 0,
): Maybe<Harvest> {
  for (let index = from; index < found.length; index++) {
    const record = found[index] as HarvestedRecord
    const kept =
      plan.steps.length === 0
        ? judge(plan, record, basket)
        : then(applySteps(plan, page, record), (changed) =>
            changed === null ? undefined : judge(plan, changed, basket),
          )
    if (kept instanceof Promise) return kept.then(() => finish(plan, page, found, basket, index + 1))
  }
  return basket
}

function applySteps(plan: HandlerPlan, page: Page, record: HarvestedRecord, from = 0): Maybe<HarvestedRecord | null> {
  let current: HarvestedRecord = record
  for (let index = from; index < plan.steps.length; index++) {
    const step = plan.steps[index] as Step
    const result = userCode(() => step(current as Parameters<Step>[0], page)) as Maybe<HarvestedRecord | null>
    if (result instanceof Promise)
      return result.then((next) => (next === null ? null : applySteps(plan, page, stepped(plan, next), index + 1)))
    if (result === null) return null
    current = stepped(plan, result)
  }
  return current
}

function stepped(plan: HandlerPlan, result: unknown): HarvestedRecord {
  const record = result as Partial<HarvestedRecord> | undefined
  if (typeof record !== 'object' || typeof record.kind !== 'string')
    throw misuse('a step must return a record { kind, key, data } or null')
  return checkedRecord(plan, 'a step', record.kind, record.key, record.data)
}

/** Adds the record to the kept or the rejected ones. */
function judge(plan: HandlerPlan, record: HarvestedRecord, basket: Basket): Maybe<void> {
  const schema = plan.kinds.get(record.kind)?.schema ?? null
  if (schema === null) return place(plan, { value: record.data }, record, basket)
  const result = validate(schema, record.data)
  return result instanceof Promise
    ? result.then((late) => place(plan, late, record, basket))
    : place(plan, result, record, basket)
}

function place(
  plan: HandlerPlan,
  result: StandardSchemaV1.Result<unknown>,
  record: HarvestedRecord,
  basket: Basket,
): void {
  if (result.issues === undefined && record.key !== '') {
    basket.records.push({ kind: record.kind, key: record.key, data: result.value as Json })
    return
  }
  const issues = (result.issues ?? []).map(plainIssue)
  const keyField = plan.record?.key ?? 'key'
  if (record.key === '' && !issues.some(({ field }) => field === keyField)) {
    issues.push({ field: keyField, message: 'the key is missing on the page' })
  }
  basket.rejected.push({ ...record, issues })
}

function plainIssue(issue: StandardSchemaV1.Issue): { field: string; message: string } {
  const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return { field: pathText(path), message: issue.message }
}

/** Undefined if it matches; a promise if the schema is asynchronous. */
function checkData(plan: HandlerPlan, schema: StandardSchemaV1, page: Page): Promise<void> | undefined {
  const judgeData = (result: StandardSchemaV1.Result<unknown>): undefined => {
    const issue = result.issues?.[0]
    if (issue === undefined) return
    const { field, message } = plainIssue(issue)
    throw misuse(
      `the link's data does not match the schema of route '${plan.route}': ${field === '' ? '' : `${field}: `}${message}`,
    )
  }
  const result = validate(schema, page.data)
  return result instanceof Promise ? result.then(judgeData) : judgeData(result)
}

/** The `out` of one page. Untyped callers make mistakes the compiler would have caught, so it validates its arguments. */
function collect(plan: HandlerPlan, found: HarvestedRecord[], links: FoundLink[]) {
  let ended = false
  const stillOpen = () => {
    if (ended) throw misuse('out was used after the handler had ended: await what the handler starts')
  }
  return {
    record(kind: string, key: unknown, data: unknown): void {
      stillOpen()
      found.push(checkedRecord(plan, 'out.record', kind, key, data))
    },
    follow(href: string, options?: FollowOptions<Readonly<Record<string, unknown>>>): void {
      stillOpen()
      if (typeof href !== 'string') throw misuse(`out.follow: the link must be a string, not ${shown(href)}`)
      links.push(options === undefined ? { href } : foundLink(plan, href, options))
    },
    end(): void {
      ended = true
    },
  }
}

function checkedRecord(plan: HandlerPlan, where: string, kind: string, key: unknown, data: unknown): HarvestedRecord {
  if (!plan.kinds.has(kind))
    throw misuse(
      `${where}: there is no record kind ${shown(kind)} (there is: ${[...plan.kinds.keys()].join(', ') || 'none'})`,
    )
  if (!isKey(key))
    throw misuse(`${where}: the key of a record must be a non-empty string or a number, not ${shown(key)}`)
  if (typeof data !== 'object' || data === null)
    throw misuse(`${where}: the data of a record must be an object, not ${shown(data)}`)
  return { kind, key: String(key), data: data as Json }
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

function isKey(key: unknown): key is string | number {
  return (typeof key === 'string' && key !== '') || (typeof key === 'number' && Number.isFinite(key))
}

function validate(schema: StandardSchemaV1, value: unknown): Maybe<StandardSchemaV1.Result<unknown>> {
  try {
    const result = schema['~standard'].validate(value)
    return result instanceof Promise ? result.catch(rethrow) : result
  } catch (error) {
    return rethrow(error)
  }
}

/** Whatever the user's code throws, now or later, becomes a handler_error. */
export function userCode<Result>(run: () => Maybe<Result>): Maybe<Result> {
  try {
    const result = run()
    return isThenable(result) ? Promise.resolve(result).catch(rethrow) : result
  } catch (error) {
    return rethrow(error)
  }
}

function isThenable<Value>(value: Maybe<Value>): value is Promise<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function rethrow(error: unknown): never {
  if (error instanceof ShoalError) throw error
  throw new ShoalError('handler_error', error instanceof Error ? `${error.name}: ${error.message}` : String(error), {
    cause: error,
  })
}

function misuse(message: string): ShoalError {
  return new ShoalError('handler_error', message)
}
