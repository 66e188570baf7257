import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runs } from '../support/longer.js'
import { type Chromium, openChromium } from './chromium.js'
import { generateDocuments } from './documents.js'
import { allPages } from './pages/all.js'
import { comparePages, compareTexts, emptyReport } from './run.js'

/** A bounded form of `npm run oracle`. */
describe('Chromium and Shoal read the same', () => {
  let chromium: Chromium
  beforeAll(async () => {
    chromium = await openChromium()
  })
  afterAll(() => chromium.close())

  it('in pages that are loaded over HTTP', async () => {
    const report = emptyReport()
    const step = Math.max(1, Math.round(15 / runs(1)))
    await comparePages(
      allPages().filter((_, index) => index % step === 0),
      chromium,
      report,
    )
    expect(report.unexplained.map(({ differences }) => differences[0])).toEqual([])
  })

  it('in generated documents', async () => {
    const report = emptyReport()
    await compareTexts(generateDocuments(runs(500), 42), chromium, report)
    expect(report.unexplained.map(({ differences }) => differences[0])).toEqual([])
  })
})
