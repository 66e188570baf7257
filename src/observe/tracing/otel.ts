import type * as Otel from '@opentelemetry/api'
import { asShoalError, ShoalError } from '../../errors.js'
import type { Attributes, TracedStep, Tracing, VisitTrace } from './tracing.js'

/** Whether an SDK is registered in this thread; without one, spans do nothing. */
export function isRegistered({ trace, ProxyTracerProvider }: typeof Otel): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('shoal') !== undefined
}

/** Traces for OpenTelemetry. Exporters and sampling are up to the SDK that the user registers. */
export function otelTracing(api: typeof Otel, version: string): Tracing {
  const { context, trace, ROOT_CONTEXT, SpanKind, SpanStatusCode } = api
  const tracer = trace.getTracer('shoal', version)

  const failed = (span: Otel.Span, thrown: unknown) => {
    const { message } = asShoalError(thrown)
    const code =
      thrown instanceof ShoalError || !(thrown instanceof Error) ? asShoalError(thrown).code : thrown.constructor.name
    span.setAttribute('error.type', code)
    span.recordException({ name: code, message })
    span.setStatus({ code: SpanStatusCode.ERROR, message })
  }

  const within = async <Result>(
    span: Otel.Span,
    parent: Otel.Context,
    work: () => Promise<Result>,
    learnt?: TracedStep<Result>['learnt'],
  ): Promise<Result> => {
    try {
      const result = await context.with(trace.setSpan(parent, span), work)
      if (learnt !== undefined) note(span, learnt(result))
      return result
    } catch (error) {
      failed(span, error)
      throw error
    } finally {
      span.end()
    }
  }

  /** By OpenTelemetry's conventions, an error response is an error of the client span. */
  const note = (span: Otel.Span, learnt: Attributes) => {
    span.setAttributes(learnt)
    if (learnt['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
  }

  return {
    visit(about, work) {
      const span = tracer.startSpan('visit', { kind: SpanKind.CONSUMER, attributes: about }, ROOT_CONTEXT)
      const own = trace.setSpan(ROOT_CONTEXT, span)
      const visit: VisitTrace = {
        step({ name, client = false, about: attributes = {}, learnt }, work) {
          // Without a context manager the current step is unknown, so all steps become children of the visit.
          const parent = trace.getSpan(context.active()) === undefined ? own : context.active()
          const kind = client ? SpanKind.CLIENT : SpanKind.INTERNAL
          return within(tracer.startSpan(name, { kind, attributes }, parent), parent, work, learnt)
        },
        ended({ outcome, error }) {
          span.setAttribute('shoal.outcome', outcome)
          if (error === undefined) return
          span.setAttribute('error.type', error.code)
          span.setStatus({ code: SpanStatusCode.ERROR, message: error.message })
        },
      }
      return within(span, ROOT_CONTEXT, () => work(visit))
    },
    async flush() {
      const provider = trace.getTracerProvider()
      const sdk: object = provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider
      if ('forceFlush' in sdk && typeof sdk.forceFlush === 'function') await sdk.forceFlush()
    },
  }
}
