import { z } from 'zod'
import { ShoalError } from '../errors.js'
import type { Done } from './api-types.js'
import type { Cursors } from './cursor.js'
import type { ApiParts } from './parts.js'
import type { Snapshots } from './snapshots.js'

/** What every handler works with. */
export interface Api extends ApiParts {
  readonly snapshots: Snapshots
  readonly cursors: Cursors
}

interface RawInput {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

/** One call of the API. The server and its OpenAPI document are built from these. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** `:name` is a parameter that `params` describes. */
  readonly path: string
  readonly summary: string
  readonly params: z.ZodObject
  readonly query: z.ZodObject
  /** Null: there is none. */
  readonly body: z.ZodType | null
  readonly answer: z.ZodType
  /** The response is a stream of events. */
  readonly stream: boolean
  /** Parses the input and returns the response. */
  run(api: Api, raw: RawInput): Promise<unknown>
}

interface Definition<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> {
  readonly method: Route['method']
  readonly path: string
  readonly summary: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly answer: Answer
  readonly stream?: true
  handle(
    api: Api,
    input: { readonly params: z.output<Params>; readonly query: z.output<Query>; readonly body: z.output<Body> },
  ): Promise<z.output<Answer>>
}

export function route<
  Answer extends z.ZodType,
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodUndefined,
>(definition: Definition<Params, Query, Body, Answer>): Route {
  const { method, path, summary, answer, stream = false } = definition
  const params: z.ZodObject = definition.params ?? NOTHING
  const query: z.ZodObject = definition.query ?? NOTHING
  const body = definition.body ?? null
  return {
    ...{ method, path, summary, params, query, body, answer, stream },
    run: async (api, raw) =>
      definition.handle(api, {
        params: parsed(params, raw.params) as z.output<Params>,
        query: parsed(query, raw.query) as z.output<Query>,
        body: parsed(body ?? z.undefined(), raw.body) as z.output<Body>,
      }),
  }
}

/** The response of a call that returns no data. */
export const OK: Done = { ok: true }

const NOTHING = z.strictObject({})

/** The first error, on one line, with the name of the field but never its value. */
function parsed(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
  throw new ShoalError('bad_request', `${where}${issue?.message ?? 'invalid'}`.slice(0, 300))
}
