import type { ApiError } from '../../src/api/api-types.js'
import { dropToken, token } from './token.js'

/** An error response of the server, or why it could not be reached. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

/** `path('crawls', id, 'hosts')`: each part is encoded, so that a name with a slash stays one part. */
export function path(...parts: readonly string[]): string {
  return `/api/${parts.map(encodeURIComponent).join('/')}`
}

export function withQuery(url: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? url : `${url}?${new URLSearchParams(pairs)}`
}

/** The server responds within 15 s, even if only with an error: after this long the request was lost. */
const GIVEN_UP_MS = 30_000

export function get<Answer>(url: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  const late = AbortSignal.timeout(GIVEN_UP_MS)
  const until = signal === undefined ? late : AbortSignal.any([signal, late])
  return ask<Answer>('GET', withQuery(url, query), undefined, until)
}

export function post<Answer>(url: string, body: object = {}): Promise<Answer> {
  return ask<Answer>('POST', url, body)
}

export function put<Answer>(url: string, body: object): Promise<Answer> {
  return ask<Answer>('PUT', url, body)
}

async function ask<Answer>(method: string, url: string, body?: object, signal?: AbortSignal): Promise<Answer> {
  const response = await send(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    ...(signal === undefined ? {} : { signal }),
  })
  return (await response.json()) as Answer
}

/** Throws when the server rejects it. */
export async function checkToken(candidate: string): Promise<void> {
  await send(path('overview'), {}, candidate)
}

/** Throws ApiFailure for any error response; 401 drops the token, so that the sign-in page appears. */
export async function send(url: string, init: RequestInit = {}, used = token.get()): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${used ?? ''}`)
  let response: Response
  try {
    response = await fetch(url, { ...init, headers, credentials: 'omit', cache: 'no-store', redirect: 'error' })
  } catch (error) {
    if (init.signal?.aborted && isAborted(error)) throw error
    throw new ApiFailure(
      0,
      'no_answer',
      'The server does not respond.',
      'Check that `shoal dashboard` is still running.',
    )
  }
  if (response.ok) return response
  if (response.status === 401 && token.get() === used) dropToken()
  throw await failureOf(response)
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => '')
  try {
    const { error } = JSON.parse(text) as Partial<ApiError>
    if (typeof error?.code === 'string') {
      return new ApiFailure(response.status, error.code, String(error.message ?? ''), String(error.hint ?? ''))
    }
  } catch {
    // Not ours: a proxy between the page and the server responded.
  }
  return new ApiFailure(response.status, `http_${response.status}`, `The server responded with ${response.status}.`, '')
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
