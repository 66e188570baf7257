import { expect, it } from 'vitest'
import { summaryDetails } from '../../../src/cli/views/summary-view.js'
import { ShoalError } from '../../../src/errors.js'
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
