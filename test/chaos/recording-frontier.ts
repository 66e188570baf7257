import type { Frontier, Lease, Outcome } from '../../src/frontier/frontier.js'
import type { RecordStore, WriteStatus } from '../../src/store/record-store.js'
import type { HistoryEvent, Recorder } from './history.js'
import { monotonic } from './history.js'

/** Called before a call leaves the process: a failpoint. */
export type Before = (op: 'settle' | 'write') => void

/** A frontier that writes down what is asked of another and what it answers. */
export function recordingFrontier(inner: Frontier, { record }: Recorder, before: Before): Frontier {
  const held = new Map<string, { id: string; epoch: string; host: string }>()

  const wrapped: Pick<Frontier, 'lease' | 'settle'> = {
    async lease(request) {
      const invokedAt = monotonic()
      try {
        const reply = await inner.lease(request)
        record(reply.leases.map((lease) => leased(lease, invokedAt)))
        return reply
      } catch (error) {
        record([{ op: 'lease', phase: 'info', id: '', epoch: '', host: '' }])
        throw error
      }
    },
    async settle(settlements) {
      before('settle')
      const about = settlements.map(({ lease, outcome }) => ({
        op: 'settle' as const,
        ...(held.get(lease.token) ?? { id: '', epoch: lease.token, host: '' }),
        outcome: outcomeName(outcome),
      }))
      record(about.map((event) => ({ ...event, phase: 'invoke' })))
      try {
        const answers = await inner.settle(settlements)
        record(about.map((event, index) => ({ ...event, phase: answers[index] ? 'ok' : 'fail' })))
        for (const { lease } of settlements) held.delete(lease.token)
        return answers
      } catch (error) {
        record(about.map((event) => ({ ...event, phase: 'info' })))
        throw error
      }
    },
  }

  function leased(lease: Lease, invokedAt: number): Omit<HistoryEvent, 'tMono' | 'tWall' | 'proc'> {
    const about = { id: lease.link.url, epoch: `${lease.gen}:${lease.epoch}`, host: lease.link.host }
    held.set(lease.token, about)
    return { op: 'lease', phase: 'ok', ...about, leaseMs: lease.visibilityMs, attempt: lease.attempt, invokedAt }
  }

  // Everything else goes straight through, whatever the interface grows.
  return new Proxy(inner, {
    get(target, name) {
      if (name === 'lease' || name === 'settle') return wrapped[name]
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function outcomeName(outcome: Outcome): NonNullable<HistoryEvent['outcome']> {
  return outcome.kind === 'retry' && !outcome.countsAsAttempt ? 'wait' : outcome.kind
}

/** Which records were committed, and when. */
export function recordingStore(inner: RecordStore, { record }: Recorder, before: Before): RecordStore {
  const write: RecordStore['records']['write'] = async (batch) => {
    before('write')
    const about = batch.records.map(({ url, gen, epoch }) => ({
      op: 'write' as const,
      id: url,
      epoch: `${gen}:${epoch}`,
      host: '',
    }))
    let statuses: WriteStatus[]
    try {
      statuses = await inner.records.write(batch)
    } catch (error) {
      record(about.map((event) => ({ ...event, phase: 'info' })))
      throw error
    }
    record(about.map((event, index) => ({ ...event, phase: 'ok', status: statuses[index] ?? '' })))
    return statuses
  }
  const { records } = inner
  return {
    ...inner,
    records: {
      write,
      scan: (query) => records.scan(query),
      counts: (query) => records.counts(query),
      rejected: (query) => records.rejected(query),
      rejectedByField: (query) => records.rejectedByField(query),
    },
  }
}
