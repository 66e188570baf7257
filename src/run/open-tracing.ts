import { ShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { isRegistered, otelTracing } from '../observe/tracing/otel.js'
import type { Tracing } from '../observe/tracing/tracing.js'
import { version } from '../version.js'

/** Null when tracing is off: then nothing of OpenTelemetry is loaded. */
export async function openTracing(traces: boolean, log: Log): Promise<Tracing | null> {
  if (!traces) return null
  const api = await import('@opentelemetry/api').catch((cause: unknown) => {
    throw new ShoalError('traces_missing', 'tracing is on, but @opentelemetry/api is not installed', { cause })
  })
  if (!isRegistered(api))
    log.warn('backend.warning', {
      message: 'tracing is on, but no OpenTelemetry SDK is registered: see docs/logs.md',
    })
  return otelTracing(api, version)
}
