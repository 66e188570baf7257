import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import { audited } from '../../src/observe/audit-control.js'
import type { AuditEntry } from '../../src/store/audit.js'

const CONTROL = { action: 'crawl.pause', target: 'crawl-1', details: { spider: 'books' } }

function auditor(log?: () => Promise<void>) {
  const clock = new ManualClock(5_000)
  const entries: AuditEntry[] = []
  const warned: unknown[] = []
  const keep = async (entry: AuditEntry) => {
    entries.push(entry)
  }
  const audit = { log: log ?? keep }
  const warnings = { warn: (...line: unknown[]) => void warned.push(line) }
  return { clock, entries, warned, at: { audit, clock, log: warnings, by: 'cli ann@mill' } }
}

describe('a control', () => {
  it('is done and noted', async () => {
    const { at, entries } = auditor()
    expect(await audited(at, CONTROL, async () => 7)).toBe(7)
    expect(entries).toEqual([{ at: 5_000, by: 'cli ann@mill', ...CONTROL, result: 'ok' }])
  })

  it('that fails is noted with its code, and its own error is what the caller gets', async () => {
    const { at, entries } = auditor()
    const ended = new ShoalError('crawl_ended', 'it has ended')
    await expect(audited(at, CONTROL, () => Promise.reject(ended))).rejects.toBe(ended)
    const bug = new TypeError('x is not a function')
    await expect(audited(at, CONTROL, () => Promise.reject(bug))).rejects.toBe(bug)
    expect(entries.map(({ result }) => result)).toEqual(['crawl_ended', 'internal'])
  })

  it.each([
    ['rejects', () => Promise.reject(new ShoalError('store_down', 'gone'))],
    [
      'throws',
      () => {
        throw new ShoalError('store_down', 'gone')
      },
    ],
  ])('stands when the audit log %s', async (_, log) => {
    const { at, warned } = auditor(log)
    expect(await audited(at, CONTROL, async () => 7)).toBe(7)
    const ended = new ShoalError('crawl_ended', 'it has ended')
    await expect(audited(at, CONTROL, () => Promise.reject(ended))).rejects.toBe(ended)
    expect(warned).toEqual(
      Array(2).fill(['audit.failed', { action: 'crawl.pause', target: 'crawl-1', why: 'store_down' }]),
    )
  })

  it('does not wait for a store that never answers', async () => {
    const { at, clock, warned } = auditor(() => new Promise(() => {}))
    const done = audited(at, CONTROL, async () => 7)
    for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    clock.advance(5_000)
    expect(await done).toBe(7)
    expect(warned).toHaveLength(1)
  })
})
