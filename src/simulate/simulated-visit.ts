import { type ErrorCode, ShoalError } from '../errors.js'
import type { HostReport } from '../frontier/frontier.js'
import { NO_NEWS } from '../worker/outcome.js'
import type { SimulatedHost } from './simulated-host.js'
import type { SimulatedWorker } from './simulated-worker.js'
import type { AnswerKind } from './web.js'

/** A visit in flight, and the one thing that happens to it next. */
export interface Visit {
  readonly id: number
  host: SimulatedHost
  worker: SimulatedWorker
  next: 'robots' | 'answer' | 'read' | 'handled' | 'permit'
  attempt: number
  throttles: number
  place: number
  grantedAt: number
  dispatchedAt: number
  arrivedAt: number
  latencyMs: number
  giveUpAt: number
  proxy: number
  kind: AnswerKind
  /** What a slot holds of the body (worker-slots.ts). */
  bodyBytes: number
}

const OK: HostReport = { kind: 'ok' }
const FAILED: HostReport = { kind: 'failed' }

/** What the worker would throw for it. */
export const ERROR_OF: Readonly<Record<Exclude<AnswerKind, 'page'>, ShoalError>> = {
  not_found: simulatedError('http_error'),
  server_error: simulatedError('server_error'),
  timeout: simulatedError('timeout'),
  connection: simulatedError('connect_error'),
  throttled: simulatedError('throttled'),
  banned: simulatedError('proxy_banned'),
}
export const ROBOTS_UNREACHABLE = simulatedError('robots_unreachable')
export const PROXIES_RESTING = simulatedError('proxies_resting')

function simulatedError(code: ErrorCode): ShoalError {
  return new ShoalError(code, 'simulated')
}

export function newVisit(id: number, host: SimulatedHost, worker: SimulatedWorker): Visit {
  return {
    ...{ id, host, worker, next: 'answer', attempt: 1, throttles: 0, place: 0, grantedAt: 0 },
    ...{ dispatchedAt: 0, arrivedAt: 0, latencyMs: 0, giveUpAt: 0, proxy: -1, kind: 'page', bodyBytes: 0 },
  }
}

/** What is reported to the queue about the host. */
export function reportOf(kind: AnswerKind, retryAfterMs: number | null): HostReport {
  switch (kind) {
    case 'page':
    case 'not_found':
      return OK
    case 'throttled':
      return { kind: 'throttled', retryAfterMs }
    case 'banned':
      return NO_NEWS
    default:
      return FAILED
  }
}
