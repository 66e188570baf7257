import { afterAll, describe, expect, it } from 'vitest'
import { tempDir } from '../support/cli.js'
import { killDemo } from './kill-demo.js'

const dir = tempDir('kill')
afterAll(() => dir.remove())

describe('kill -9', () => {
  it('loses nothing, stores nothing twice, and fetches no more than was in hand', async () => {
    const report = await killDemo({ dir: dir.path, pages: 300, kills: 3, seed: 7, killWithinMs: 2_500 })
    expect(report.violations).toEqual([])
    expect(report.kills).toBeGreaterThan(0)
  }, 60_000)
})
