import { isDeepStrictEqual } from 'node:util'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ShoalError } from '../errors.js'
import type { CrawlArgs } from '../frontier/frontier.js'
import { jsonCopy } from '../json/copy.js'
import { nearest } from '../nearest.js'
import { pathText } from '../options.js'
import { textOf } from '../thrown.js'
import { shown } from '../units.js'
import type { Spider } from './spider.js'

/** The arguments of a spider: checked against its schema before anything is opened, and stored with the crawl as they were given. */

/** Arguments from a program: they are stored with the crawl, so they must be JSON. */
export function asArguments(given: unknown): CrawlArgs {
  if (given === undefined) return {}
  try {
    const copy = jsonCopy(given)
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as CrawlArgs
  } catch (error) {
    throw new ShoalError('spider_args', `arguments must be JSON: ${textOf(error)}`, { cause: error })
  }
  throw new ShoalError('spider_args', 'arguments must be an object, such as { category: "shoes" }')
}

/** What the spider's function is called with. Anything wrong is refused with every reason and the list of arguments. */
export function checkArguments(schema: StandardSchemaV1, given: CrawlArgs): unknown {
  const known = fieldsOf(schema)
  if (known !== null) refuseUnknown(given, Object.keys(known), known)
  const result = judged(schema, given)
  if (result instanceof Promise)
    throw new ShoalError('spider_invalid', 'the schema of the arguments is asynchronous: it must answer at once')
  if (result.issues === undefined) return result.value
  const reasons = result.issues.map((issue) => reasonOf(issue, given))
  throw refused([...new Set(reasons)].join('; '), known)
}

/** A spider without arguments ignores none: whoever passes one believes that it matters. */
export function refuseArguments(given: CrawlArgs): void {
  const [first] = Object.keys(given)
  if (first === undefined) return
  throw new ShoalError('spider_args', `the spider takes no arguments, but got ${shown(first)}`, {
    hint: 'Remove -a, or declare arguments: defineSpider(schema, (args) => defineSpider({ … }))',
  })
}

/** Whether `other`, which may be from an older version of the spider, comes to the same as the arguments that were checked. */
export function isSameArguments(schema: StandardSchemaV1, checked: unknown, other: CrawlArgs): boolean {
  try {
    return isDeepStrictEqual(checkArguments(schema, other), checked)
  } catch {
    return false
  }
}

/** The arguments that a spider was built with, as they were given. */
export function argsOf({ args }: Pick<Spider, 'args'>): CrawlArgs {
  return args?.given ?? {}
}

/** Whether a crawl that was started with these arguments is one of this spider as it was built. */
export function isCrawlOf({ args }: Pick<Spider, 'args'>, started: CrawlArgs = {}): boolean {
  return args === null ? Object.keys(started).length === 0 : args.isSame(started)
}

/** The spider that works on a crawl with these arguments. */
export function spiderForCrawl(spider: Spider, started: CrawlArgs = {}): Spider {
  if (spider.args === null) {
    refuseArguments(started)
    return spider
  }
  if (spider.args.isSame(started)) return spider
  const built = spider.args.build(started)
  if (built.name === spider.name) return built
  // Records and leases belong to the name.
  throw new ShoalError('spider_args', `with these arguments the spider is called ${built.name}, not ${spider.name}`, {
    hint: 'A name that depends on arguments makes different spiders: pass the arguments of this one with -a.',
  })
}

/** Whether the spider, as its file is now, can work on a crawl with these arguments. */
export function isServable(spider: Spider, started: CrawlArgs = {}): boolean {
  try {
    spiderForCrawl(spider, started)
    return true
  } catch {
    return false
  }
}

/** `category=shoes max=10`; empty if there are none. */
export function argumentsText(args: CrawlArgs = {}): string {
  return Object.entries(args)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}

type Fields = Readonly<Record<string, unknown>>

/** The fields of an object schema: zod calls them `shape`, valibot `entries`; with a transformation after it, it is the input of a pipe. Null: unknown. */
function fieldsOf(schema: unknown, depth = 0): Fields | null {
  if (typeof schema !== 'object' || schema === null || depth > MOST_WRAPPED) return null
  const { shape, entries, in: input, pipe } = schema as Fields
  for (const fields of [shape, entries]) if (typeof fields === 'object' && fields !== null) return fields as Fields
  return fieldsOf(input ?? (Array.isArray(pipe) && pipe[0] !== schema ? pipe[0] : undefined), depth + 1)
}

/** Transformations of transformations. */
const MOST_WRAPPED = 10

function refuseUnknown(given: CrawlArgs, names: readonly string[], known: Fields): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const guess = nearest(unknown, names)
  throw refused(`there is no argument ${shown(unknown)}${guess === null ? '' : `, did you mean '${guess}'?`}`, known)
}

function judged(schema: StandardSchemaV1, value: unknown): ReturnType<StandardSchemaV1['~standard']['validate']> {
  try {
    return schema['~standard'].validate(value)
  } catch (error) {
    throw new ShoalError('spider_invalid', `the schema of the arguments failed: ${textOf(error)}`, { cause: error })
  }
}

function reasonOf({ path = [], message }: StandardSchemaV1.Issue, given: CrawlArgs): string {
  const keys = path.map((step) => (typeof step === 'object' ? step.key : step))
  const [name] = keys
  if (name === undefined) return message
  const isWhole = keys.length === 1
  if (isWhole && !Object.hasOwn(given, name)) return `argument ${pathText(keys)}: is missing`
  // "received NaN" does not say what was typed.
  const got = isWhole ? `, not ${shown(given[String(name)])}` : ''
  const [reason = ''] = message.replace(/^(Invalid [a-z]+|Too (small|big)): /, '').split(', received ', 1)
  return `argument ${pathText(keys)}: ${reason}${got}`
}

function refused(message: string, known: Fields | null): ShoalError {
  const list = known === null ? [] : Object.entries(known).map(([name, field]) => `${name} ${needOf(field)}`.trim())
  return new ShoalError('spider_args', message, {
    hint:
      list.length === 0
        ? 'Pass arguments with -a <name>=<value>.'
        : `Pass arguments with -a <name>=<value>: ${list.join(', ')}.`,
  })
}

/** What happens without the argument: a field is asked what it makes of nothing. */
function needOf(field: unknown): string {
  try {
    const result = (field as StandardSchemaV1)['~standard'].validate(undefined)
    if (result instanceof Promise) return ''
    if (result.issues !== undefined) return '(required)'
    return result.value === undefined ? '(optional)' : `(default ${JSON.stringify(result.value)})`
  } catch {
    return ''
  }
}
