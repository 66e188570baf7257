import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AUDIT_MAX, type AuditEntry } from '../../src/store/audit.js'
import type { RecordStore } from '../../src/store/record-store.js'

function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{
      at: 10_000,
      by: 'cli ann@mill',
      action: 'crawl.pause',
      target: 'crawl-1',
      details: { spider: 'books' },
      result: 'ok',
    },
    ...fields,
  }
}

/** What every store does with the audit log. `open` gives an empty store. */
export function auditContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: audit contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    it('gives back what was noted, newest first, page by page', async () => {
      expect(await store.audit.entries({ limit: 10 })).toEqual({ entries: [], next: null })
      // By the order of the notes: clocks of machines differ.
      const noted = [5, 3, 4, 1, 2].map((at) => entry({ at, target: `crawl-${at}` }))
      for (const one of noted) await store.audit.log(one)
      const first = await store.audit.entries({ limit: 2 })
      expect(first.entries).toEqual([noted[4], noted[3]])
      const second = await store.audit.entries({ limit: 2, after: String(first.next) })
      await store.audit.log(entry({ at: 9 }))
      const third = await store.audit.entries({ limit: 2, after: String(second.next) })
      expect([second.entries, third]).toEqual([[noted[2], noted[1]], { entries: [noted[0]], next: null }])
      expect((await store.audit.entries({ limit: 6 })).next).toBeNull()
    })

    it('keeps any text as text, without what cannot be stored', async () => {
      const bad = "'); DROP TABLE audit; --\0\ud800<script>"
      await store.audit.log(
        entry({ by: bad, action: bad, target: bad, result: bad, details: { [bad]: [bad, null, 1.5] } }),
      )
      const clean = "'); DROP TABLE audit; --\ufffd\ufffd<script>"
      expect((await store.audit.entries({ limit: 1 })).entries).toEqual([
        entry({ by: clean, action: clean, target: clean, result: clean, details: { [clean]: [clean, null, 1.5] } }),
      ])
    })

    it('cuts what is too long', async () => {
      const long = '\u{1f41f}'.repeat(50_000)
      await store.audit.log(entry({ by: long, target: long, details: { long } }))
      const [one] = (await store.audit.entries({ limit: 1 })).entries
      expect(one?.by.length).toBeLessThanOrEqual(AUDIT_MAX.name)
      expect(one?.target.length).toBeLessThanOrEqual(AUDIT_MAX.target)
      expect(JSON.stringify(one?.details).length).toBeLessThanOrEqual(AUDIT_MAX.details)
      expect(one?.details).toMatchObject({ cut: expect.stringContaining('\u{1f41f}') })
    })

    it('refuses a cursor that is none', async () => {
      for (const after of ['', 'x', '-1', "1' OR 1=1", '9'.repeat(40), '1e3']) {
        await expect(store.audit.entries({ limit: 1, after }), after).rejects.toMatchObject({ code: 'cursor_foreign' })
      }
    })
  })
}
