import { expect, it } from 'vitest'
import {
  addReport,
  emptyReport,
  list,
  noteChange,
  noteFailure,
  noteRejected,
  type ReparseReport,
  tallyOf,
} from '../../../src/run/reparse/reparse-report.js'

function part(n: number): ReparseReport {
  const report = emptyReport()
  report.pages = 10
  list(report.missing, `https://books.example/${n}`)
  list(report.gone, { kind: 'book', key: `k${n}`, url: 'https://books.example/' })
  noteFailure(report, { code: 'handler_error', message: 'no', url: `https://books.example/${n}` })
  noteFailure(report, { code: 'handler_error', message: `no ${n}`, url: `https://books.example/${n}` })
  tallyOf(report, 'book').written += 2
  const record = { kind: 'book', key: `k${n}`, url: `https://books.example/${n}` }
  noteChange(report, record, { field: 'price', turn: 'filled', before: undefined, after: 'x'.repeat(9000) })
  noteChange(report, record, { field: `field ${n}`, turn: 'changed', before: 1, after: 2 })
  noteRejected(report, { ...record, issues: [{ field: 'price', message: 'expected number' }] })
  noteRejected(report, { ...record, issues: [{ field: `f${n}`, message: 'y'.repeat(9000) }] })
  return report
}

it('adds up, names the first of everything and stays small', () => {
  const sum = emptyReport()
  for (let n = 0; n < 1000; n++) addReport(sum, part(n))
  expect(sum).toMatchObject({ pages: 10_000, failed: 2000, missing: { count: 1000 }, gone: { count: 1000 } })
  expect(sum.missing.examples.length).toBeLessThan(100)
  expect(sum.gone.examples[0]).toEqual({ kind: 'book', key: 'k0', url: 'https://books.example/' })
  expect(sum.kinds.get('book')?.written).toBe(2000)
  expect(sum.failures.get('handler_error no')).toMatchObject({ count: 1000, url: 'https://books.example/0' })
  expect(sum.failures.size).toBeLessThan(100)
  expect([...sum.failures.values()].reduce((all, { count }) => all + count, 0)).toBe(2000)
  expect(sum.rejections.get(JSON.stringify(['book', 'price', 'expected number']))).toMatchObject({
    count: 1000,
    key: 'k0',
  })
  expect(sum.rejections.size).toBeLessThan(100)
  expect([...sum.rejections.values()].reduce((all, { count }) => all + count, 0)).toBe(2000)
  expect(sum.kinds.get('book')?.rejected).toBe(2000)
  const fields = sum.fields.get('book')
  expect(fields?.get('price')).toMatchObject({ records: 1000, filled: 1000, emptied: 0, retyped: 0, changed: 0 })
  expect(fields?.get('price')?.examples).toHaveLength(3)
  expect(fields?.get('price')?.examples[0]?.before).toBeNull()
  expect(fields?.size).toBeLessThan(300)
  expect([...(fields?.values() ?? [])].reduce((all, { records }) => all + records, 0)).toBe(2000)
  expect(JSON.stringify([...(fields ?? [])]).length).toBeLessThan(100_000)
})
