import { expect, it } from 'vitest'
import type { Output } from '../../../src/cli/output.js'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { table } from '../../../src/cli/terminal/table.js'
import { progressText } from '../../../src/cli/views/reparse-progress.js'
import { reparseJson, showReparse } from '../../../src/cli/views/reparse-view.js'
import {
  emptyReport,
  list,
  noteChange,
  noteFailure,
  noteRejected,
  noteStray,
  tallyOf,
} from '../../../src/run/reparse/reparse-report.js'

const style = styleFor({ isTTY: false }, {})

function shown(show: (output: Output) => void): string {
  const lines: string[] = []
  const print = (line = '') => void lines.push(line)
  const put = (columns: Parameters<typeof table>[0], rows: Parameters<typeof table>[1]) => {
    for (const line of table(columns, rows, Number.POSITIVE_INFINITY, style.dim)) print(line)
  }
  show({ style, width: Number.POSITIVE_INFINITY, print, table: put } as unknown as Output)
  return lines.join('\n')
}

function report() {
  const found = emptyReport()
  found.pages = 1234
  found.passed = 30
  Object.assign(tallyOf(found, 'book'), { written: 1000, added: 10, unchanged: 200, fenced: 3, rejected: 2, gone: 4 })
  const record = { kind: 'book', key: 'B-1', url: 'https://books.example/1' }
  for (let n = 0; n < 4; n++) list(found.gone, { ...record, key: `G-${n}` })
  noteChange(found, record, { field: 'price', turn: 'filled', before: undefined, after: 12.5 })
  noteChange(found, record, { field: 'title', turn: 'emptied', before: 'A\u001b[2Jtome', after: '' })
  list(found.missing, 'https://books.example/gone')
  noteFailure(found, { code: 'handler_error', message: 'TypeError: no price', url: 'https://books.example/9' })
  noteStray(found, 'Error: late')
  return found
}

it('ends with what was written, what was not and why', () => {
  const text = shown((output) =>
    showReparse(output, { spider: 'books', dryRun: false, report: report(), seconds: 2, interrupted: true }),
  )
  expect(text).toBe(`Reparsed 1,234 pages of books in 2.0 s, 617/s
Stopped early; run it again for the rest.

kind  written  unchanged  fenced  rejected  no longer found
book    1,000        200       3         2                4
fenced: a newer page has written the record, so it is left as it is
no longer found: the page does not produce these stored records any more; they are left as they are
  book G-0  https://books.example/1
  book G-1  https://books.example/1
  book G-2  https://books.example/1
  and 1 more; see --json

30 pages skipped: their routes only follow links
1 page missing or damaged
  https://books.example/gone
1 page failed; their stored records are left as they are
  1 × handler_error: TypeError: no price
      for example https://books.example/9
  1 × handler_error: not awaited: Error: late`)
})

it('shows in a dry run what would become of each field', () => {
  const summary = { spider: 'books', dryRun: true, report: report(), seconds: 2, interrupted: false }
  const text = shown((output) => showReparse(output, summary))
  expect(text).toContain(`Dry run over 1,234 pages of books in 2.0 s, 617/s: nothing was written

kind  new  changed  unchanged  fenced  rejected  no longer found
book   10      990        200       3         2                4
`)
  expect(text).toContain(`
kind  field  records  filled → empty  empty → filled  other type  other value
book  price        1               0               1           0            0
book  title        1               1               0           0            0

book price
  B-1  (none) → 12.5

book title
  B-1  "A`)
  expect(text).not.toContain('\u001b')
  expect(reparseJson(summary)).toMatchObject({
    ...{
      pages: 1234,
      written: 1000,
      added: 10,
      unchanged: 200,
      fenced: 3,
      rejected: 2,
      gone: 4,
      passed: 30,
      missing: 1,
      failed: 1,
    },
    fields: [
      { kind: 'book', field: 'price', filled: 1, examples: [{ before: null, after: '12.5' }] },
      { kind: 'book', field: 'title', emptied: 1 },
    ],
  })
})

it('tells how far it is and when it ends', () => {
  const progress = { spider: 'books', report: report(), total: null, seconds: 2 }
  expect(progressText(progress, style)).toBe('books  1,234 pages · 617/s · 1,200 records · 1 failed')
  expect(progressText({ ...progress, total: 7404 }, style)).toBe(
    'books  1,234/7,404 pages (16 %) · 617/s · 1,200 records · 1 failed · ends in about 10 s',
  )
})

it('names the field and the reason of records that are rejected, in a dry run and in JSON', () => {
  const found = emptyReport()
  const issues = [{ field: 'price', message: 'expected number,\u001b[2J received undefined' }]
  for (let n = 0; n < 3; n++)
    noteRejected(found, { kind: 'book', key: `B-${n}`, url: 'https://books.example/1', issues })
  noteRejected(found, { kind: 'book', key: '', url: 'https://books.example/2', issues: [{ field: '', message: 'no' }] })
  const summary = { spider: 'books', dryRun: true, report: found, seconds: 1, interrupted: false }
  expect(shown((output) => showReparse(output, summary))).toContain(
    `rejected book.price: expected number, [2J received undefined × 3
  B-0  https://books.example/1
rejected book: no × 1
  https://books.example/2`,
  )
  expect(reparseJson(summary).rejections).toMatchObject([
    { kind: 'book', field: 'price', count: 3, key: 'B-0' },
    { field: '' },
  ])
})
