import * as api from '@opentelemetry/api'
import { afterAll, expect, it } from 'vitest'
import { ShoalError } from '../../../src/errors.js'
import { isRegistered, otelTracing } from '../../../src/observe/tracing/otel.js'
import { traceUrl } from '../../../src/observe/tracing/trace-url.js'

interface Told {
  readonly name: string
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
  status?: api.SpanStatus
  ended: boolean
}

const spans: Told[] = []
let flushed = 0

function startSpan(name: string, { attributes = {} }: api.SpanOptions = {}, context?: api.Context): api.Span {
  const parent = context === undefined ? undefined : api.trace.getSpan(context)?.spanContext().spanId
  const told: Told = { name, parent, attributes: { ...attributes }, ended: false }
  spans.push(told)
  const span: Partial<api.Span> = {
    spanContext: () => ({ traceId: 't', spanId: name, traceFlags: 1 }),
    setAttribute(key, value) {
      told.attributes[key] = value
      return span as api.Span
    },
    setAttributes(more) {
      Object.assign(told.attributes, more)
      return span as api.Span
    },
    setStatus(status) {
      told.status = status
      return span as api.Span
    },
    recordException() {},
    end() {
      told.ended = true
    },
  }
  return span as api.Span
}

afterAll(() => api.trace.disable())

it('spans nest without a context manager, end whatever happens, and tell what went wrong', async () => {
  expect(isRegistered(api)).toBe(false)
  const provider = {
    getTracer: () => ({ startSpan }) as unknown as api.Tracer,
    forceFlush: async () => {
      flushed++
    },
  }
  api.trace.setGlobalTracerProvider(provider)
  expect(isRegistered(api)).toBe(true)
  const tracing = otelTracing(api, '1')
  class HostBusy extends Error {}
  const away = new ShoalError('timeout', 'too slow')
  const visit = tracing.visit({ 'shoal.fp': 'f' }, async (trace) => {
    const answer = { name: 'GET', client: true, learnt: (status: number) => ({ status, 'error.type': '404' }) }
    expect(await trace.step(answer, async () => 404)).toBe(404)
    await expect(trace.step({ name: 'permit' }, () => Promise.reject(new HostBusy('busy')))).rejects.toThrow('busy')
    await expect(trace.step({ name: 'handler' }, () => Promise.reject(away))).rejects.toBe(away)
    trace.ended({ outcome: 'dead', error: away })
    return 7
  })
  expect(await visit).toBe(7)
  const { ERROR } = api.SpanStatusCode
  expect(spans).toMatchObject([
    {
      name: 'visit',
      attributes: { 'shoal.fp': 'f', 'shoal.outcome': 'dead', 'error.type': 'timeout' },
      status: { code: ERROR },
    },
    { name: 'GET', parent: 'visit', attributes: { status: 404, 'error.type': '404' }, status: { code: ERROR } },
    { name: 'permit', parent: 'visit', attributes: { 'error.type': 'HostBusy' }, status: { code: ERROR } },
    { name: 'handler', parent: 'visit', attributes: { 'error.type': 'timeout' }, status: { code: ERROR } },
  ])
  expect(spans.every(({ ended }) => ended)).toBe(true)
  await tracing.flush()
  expect(flushed).toBe(1)
})

it.each([
  ['https://ann:pw@a.test/x?q=shoes#top', 'https://a.test/x?q=shoes'],
  [
    'https://a.test/?api_key=1&Token=2&X-Amz-Signature=3&page=4',
    'https://a.test/?api_key=REDACTED&Token=REDACTED&X-Amz-Signature=REDACTED&page=4',
  ],
  ['https://a.test/?keyword=a&monkey=b&passage=c', 'https://a.test/?keyword=a&monkey=b&passage=c'],
  ['nothing', ''],
])('%s', (url, shown) => {
  expect(traceUrl(url)).toBe(shown)
})
