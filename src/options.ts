import { z } from 'zod'
import { type ErrorCode, ShoalError } from './errors.js'
import { nearest } from './nearest.js'
import { parseDuration, parseRate, parseSize, shown } from './units.js'

/** Checks options that a user wrote: building blocks for the schemas of spiders and of the configuration, with errors on one line. */

/** Names that other tools use for an option, with ours. */
export type Synonyms = Readonly<Record<string, string>>

/** An object that rejects unknown keys and suggests the one that was probably meant. */
export function options<Shape extends z.core.$ZodLooseShape>(shape: Shape, synonyms: Synonyms = {}) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownOption(issue.keys[0] ?? '', Object.keys(shape), synonyms) : undefined,
  })
}

export function unknownOption(key: string, known: readonly string[], synonyms: Synonyms = {}): string {
  const guess = (Object.hasOwn(synonyms, key) ? synonyms[key] : null) ?? nearest(key, known)
  return `unknown option '${key}'${guess === null ? '' : `, did you mean '${guess}'?`}`
}

/** Node treats a timer of 2^31 ms or more as one of 1 ms, so no duration may be that long. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** A duration in milliseconds. */
export function duration(limits: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = TIMER_MAX_MS } = limits
  return z.unknown().transform((value, context) => {
    if (value === undefined) {
      context.addIssue({ code: 'custom', message: 'is missing', params: { missing: true } })
      return z.NEVER
    }
    const ms = parsed(() => parseDuration(value), context)
    if (ms === null) return z.NEVER
    if (ms >= min && ms <= max) return ms
    context.addIssue(
      ms < min
        ? `${shown(value)} is shorter than ${min} ms`
        : `${shown(value)} is longer than ${Math.floor(max / 86_400_000)} days`,
    )
    return z.NEVER
  })
}

export const rate = z.unknown().transform((value, context) => parsed(() => parseRate(value), context) ?? z.NEVER)

/** A size in bytes. */
export const size = z.unknown().transform((value, context) => {
  const bytes = parseSize(value)
  if (bytes !== null) return bytes
  context.addIssue(`${shown(value)} is not a size: write bytes, or a number with a unit like '10mb'`)
  return z.NEVER
})

/** Pages that a worker visits at once at most, if nobody says otherwise. More has never made a crawl faster in our measurements, and costs memory. */
export const AUTO_CONCURRENCY = 64

export const count = z.int().min(0)
export const atLeastOne = z.int().min(1)

export function aFunction<Function extends (...args: never[]) => unknown>() {
  return z.custom<Function>((value) => typeof value === 'function', 'expected a function')
}

function parsed<Value>(parse: () => Value, context: z.RefinementCtx): Value | null {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    context.addIssue({ code: 'custom', message: error.message, params: { code: error.code } })
    return null
  }
}

/** Checks a value; the first problem becomes the error, on one line that starts with the path of the option. */
export function check<Schema extends z.ZodType>(schema: Schema, value: unknown, code: ErrorCode): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message, params } = firstIssue(result.error.issues)
  const place = pathText(path)
  throw new ShoalError((params?.code as ErrorCode | undefined) ?? code, place === '' ? message : `${place}: ${message}`)
}

interface PlainIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

function firstIssue(issues: readonly z.core.$ZodIssue[]): PlainIssue {
  // Of an option that is missing under its own name and there under another, the second is the mistake.
  const [first] = issues
  const renamed = issues.find(
    ({ code, path }) => code === 'unrecognized_keys' && path.length + 1 === first?.path.length,
  )
  const issue = first !== undefined && isMissing(first) && renamed !== undefined ? renamed : first
  if (issue === undefined) return { path: [], message: 'wrong value' }
  if (issue.code === 'invalid_union') {
    // The branch that got furthest is probably the one that was meant, unless it only failed on something missing.
    const branches = issue.errors.map(firstIssue).filter((branch) => branch.params?.missing !== true)
    const meant = branches.sort((a, b) => b.path.length - a.path.length)[0]
    if (meant !== undefined && meant.path.length > 0) return { ...meant, path: [...issue.path, ...meant.path] }
  }
  if (isMissing(issue)) {
    return { path: issue.path, message: `is missing (expected ${issue.expected})`, params: { missing: true } }
  }
  const params = issue.code === 'custom' ? issue.params : undefined
  // "Invalid input: expected number, received string" says no more than its second half.
  return { path: issue.path, message: issue.message.replace(/^(Invalid [a-z]+|Too (small|big)): /, ''), params }
}

function isMissing(issue: z.core.$ZodIssue): issue is z.core.$ZodIssueInvalidType {
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
}

export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('')
}

export const poolName = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/,
    'expected the name of a pool: letters, digits, dots, dashes and underscores',
  )

export const country = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'expected the two letters of a country')
  .transform((text) => text.toLowerCase())

/** Where a server listens: a port on this machine only, or host:port. */
export const listenAddress = z.union([z.string(), z.number()]).transform((value, context) => {
  const [, bracketed, plain, digits = ''] =
    /^(?:(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+)):)?(\d{1,5})$/i.exec(`${value}`) ?? []
  const port = Number(digits)
  if (digits !== '' && port <= 65_535) return { host: bracketed ?? plain ?? '127.0.0.1', port }
  context.addIssue(`${shown(value)} is not a port: write 9464, or host:port`)
  return z.NEVER
})
