import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import {
  freshLines,
  headline,
  printSummary,
  sharesText,
  sourcesText,
  summaryDetails,
} from '../../../src/cli/views/summary-view.js'
import { type ErrorCode, ShoalError } from '../../../src/errors.js'
import { memoryRecordStore } from '../../../src/store/memory/memory-record-store.js'
import { batch, rejectedRow } from '../../contract/record-store-contract.js'

const frontier = { deadByError: async () => [], links: async () => [] }

it('names the fields that the schemas refused in this crawl, not in those before', async () => {
  const { records } = memoryRecordStore()
  await records.write(batch({ rejected: [rejectedRow(), rejectedRow({ key: 'b', crawl: 'crawl-2' })] }))
  const { rejectedFields } = await summaryDetails(frontier, records, 'crawl-2', 'books')
  expect(rejectedFields).toEqual([{ kind: 'book', field: 'title', count: 1 }])
})

it('leaves them out when they take too long to count', async () => {
  const counts = async () => []
  const rejectedByField = () => Promise.reject(new ShoalError('store_down', 'no answer within 60 s'))
  const details = await summaryDetails(frontier, { counts, rejectedByField }, 'crawl-1', 'books')
  expect(details.rejectedFields).toEqual([])
})

it('says why a second run wrote few records', () => {
  const hour = 3_600_000
  expect(freshLines([])).toEqual([])
  expect(freshLines([{ kind: 'book', records: 297, windowMs: hour }])).toEqual([
    '        297  records changed but not written: the stored ones are less than 1 h old (`fresh: 0` always writes)',
  ])
  const fresh = [
    { kind: 'book', records: 2, windowMs: hour },
    { kind: 'author', records: 3, windowMs: hour },
    { kind: 'price', records: 1, windowMs: 600_000 },
  ]
  expect(freshLines(fresh)).toEqual([
    '          5  records changed but not written: the stored ones are less than 1 h old (`fresh: 0` always writes)',
    '          1  record changed but not written: the stored one is less than 10 min old (`fresh: 0` always writes)',
  ])
})

it('tells pages that the spider failed on from pages that nobody fetched', () => {
  const output = { style: styleFor({ isTTY: false }, {}) }
  const none = { interrupted: false, state: 'finished' as const, endedBy: null, pages: 0 }
  const ended = (...codes: ErrorCode[]) =>
    headline(output, { ...none, deadLetters: codes.map((code) => ({ code, count: 1, sample: '', examples: [] })) })
  expect(ended()).toBe('Finished without fetching a page')
  expect(ended('connect_error', 'http_error')).toBe('Finished without fetching a page')
  expect(ended('connect_error', 'handler_error')).toBe('Finished, but every page failed')
  expect(ended('handler_timeout')).toBe('Finished, but every page failed')
})

it('says how several workers shared the pages', () => {
  expect(sharesText([])).toBe(null)
  expect(sharesText([{ worker: 'a', pages: 9 }])).toBe(null)
  const workers = [1_204, 1_187, 0].map((pages, i) => ({ worker: `w${i}`, pages }))
  expect(sharesText(workers)).toBe('by 3 workers: 1,204, 1,187, 0')
})

it('says where the responses came from', () => {
  expect(sourcesText({ cache: 1_204, network: 12 })).toBe('1,204 responses from the cache, 12 from the network')
  expect(sourcesText({ cache: 1, network: 0 })).toBe('1 response from the cache, 0 from the network')
})

it('wraps what failed and what was filtered at the width of the terminal, below its own column', () => {
  const url = 'http://books.example/a'
  const message = `${url} redirects to a URL that must not be fetched: host other.example is not in scope.hosts`
  const lines: string[] = []
  const output = {
    style: styleFor({ isTTY: true }, { FORCE_COLOR: '1' }),
    width: 80,
    print: (line = '') => lines.push(stripVTControlCharacters(line)),
  }
  const nothing = { fresh: [], filtered: [], counts: [], workers: [], drift: [], neverMatched: [], why: [] }
  const filtered = {
    code: 'too_deep',
    effect: 'rejected',
    words: 'too many clicks from a start URL',
    count: 2,
  } as const
  printSummary(
    output as never,
    {
      ...nothing,
      ...{ pages: 1, pagesNow: 1, records: 1, retried: 0, rejected: 0, skipped: 0, refused: 0, seconds: 1 },
      ...{ endedBy: null, state: 'finished', interrupted: false, drained: false, responses: null, visits: null },
      ...{ dead: 1, deadLetters: [{ code: 'bad_redirect', count: 1, sample: url, examples: [{ message, url }] }] },
      filtered: [{ ...filtered, setting: 'scope.maxDepth', example: { url: `${url}/and/some/more`, became: null } }],
    } as never,
    null,
  )
  expect(lines.filter((line) => line.length > 80)).toEqual([])
  expect(lines.filter((line) => /^ {0,8}\S/.test(line))).toEqual(['Finished after 1.0 s, 1.0/s'])
})
