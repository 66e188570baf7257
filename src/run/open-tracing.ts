import { ShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { isRegistered, otelTracing } from '../observe/tracing/otel.js'
import type { Tracing } from '../observe/tracing/tracing.js'
import { version } from '../version.js'

export interface TraceOrder {
  /** Visits are traced with OpenTelemetry. */
  readonly traces?: boolean
}

/** Null: nobody asked for traces, and nothing of OpenTelemetry is loaded. */
export async function openTracing({ traces = false }: TraceOrder, log: Log): Promise<Tracing | null> {
  if (!traces) return null
  const api = await import('@opentelemetry/api').catch((cause: unknown) => {
    throw new ShoalError('traces_missing', 'traces are switched on, and @opentelemetry/api is not installed', { cause })
  })
  if (!isRegistered(api))
    log.warn('backend.warning', {
      message: 'traces are switched on, and no OpenTelemetry SDK is registered: docs/logs.md',
    })
  return otelTracing(api, version)
}
