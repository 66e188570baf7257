import { expect, it } from 'vitest'
import { visit } from '../../src/worker/visit.js'
import { PERMIT_MS, visitParts } from './visit-parts.js'

it('waits before it takes its own link again when permits were too old five times in a row', async () => {
  const { parts, leased, ended, settled, sent } = visitParts({
    answer(_request, clock) {
      clock.advance(PERMIT_MS + 1)
      return 200
    },
  })
  await ended(visit(leased(), parts, () => {}))
  expect(sent).toEqual([])
  expect(settled).toEqual([{ kind: 'back', afterMs: 1_000 }])
})
