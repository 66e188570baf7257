import { Agent, request } from 'node:https'
import type { Manifest } from './kustomize.js'

/** A client of the Kubernetes API, as small as this run needs it. */
export interface ApiClient {
  get<Reply = Manifest>(path: string): Promise<Reply>
  /** Server-side apply, which refuses fields that the server does not know. */
  apply(object: Manifest, options?: { readonly dryRun?: boolean }): Promise<void>
  post(path: string, body: object): Promise<void>
  patch(path: string, body: object): Promise<void>
  delete(path: string, body?: object): Promise<void>
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export function createApiClient(options: { host: string; port: number; ca: string; token: string }): ApiClient {
  const agent = new Agent({ ca: options.ca, keepAlive: true })

  function send<Reply>(method: string, path: string, body?: object, type = 'application/json'): Promise<Reply> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${options.token}`,
      ...(text === '' ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
    }
    return new Promise((resolve, reject) => {
      const sent = request({ agent, host: options.host, port: options.port, method, path, headers }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          const reply = Buffer.concat(parts).toString()
          const status = response.statusCode ?? 0
          if (status < 300) return resolve(JSON.parse(reply))
          reject(new ApiError(status, `${method} ${path}: ${status} ${messageOf(reply)}`))
        })
      })
      sent.setTimeout(10_000, () => sent.destroy(new Error(`${method} ${path}: no answer within 10 s`)))
      sent.on('error', reject)
      sent.end(text)
    })
  }

  return {
    get: (path) => send('GET', path),
    async apply(object, { dryRun = false } = {}) {
      const query = `?fieldManager=shoal&force=true${dryRun ? '&dryRun=All' : ''}`
      await send('PATCH', `${pathOf(object)}${query}`, object, 'application/apply-patch+yaml')
    },
    post: (path, body) => send('POST', path, body),
    patch: (path, body) => send('PATCH', path, body, 'application/strategic-merge-patch+json'),
    delete: (path, body) => send('DELETE', path, body),
  }
}

function messageOf(reply: string): string {
  try {
    return String(JSON.parse(reply).message)
  } catch {
    return reply.slice(0, 200)
  }
}

export function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
  return `${group}${scope}/${pluralOf(kind)}/${metadata.name}`
}

function pluralOf(kind: string): string {
  const word = kind.toLowerCase()
  if (word === 'endpoints') return word
  if (word.endsWith('y')) return `${word.slice(0, -1)}ies`
  return word.endsWith('s') ? `${word}es` : `${word}s`
}
