import { describe, expect, it } from 'vitest'
import { DELAY_MS, type Draft, draft, LEASE_MS, SITE } from '../chaos/synthetic.js'
import { judge, type UpgradeEvidence } from './judge.js'

/** A crawl in which all went well; the draft has one kill, after which one page was fetched again. */
function evidence(change: (made: Draft) => void = () => {}): UpgradeEvidence {
  const made = draft()
  change(made)
  const { history: _, accesses, records, injected: __, ...queue } = made
  return {
    site: SITE,
    pace: { delayMs: DELAY_MS, leaseMs: LEASE_MS, retries: 3 },
    accesses,
    queue,
    records,
    faults: [],
    upgradedUnderLoad: true,
    mayComeAgain: 1,
  }
}

describe('the judge of an upgrade', () => {
  it('accepts a crawl in which all went well', () => {
    expect(judge(evidence())).toMatchObject({ violations: [], invalid: [], figures: { lost: 0, 'fetched twice': 1 } })
  })

  it.each<[string, UpgradeEvidence, RegExp]>([
    ['a lost record', evidence((made) => made.records.splice(500, 1)), /0 records of it/],
    ['a record twice', evidence((made) => made.records.push({ key: '7', epoch: '1:9' })), /2 records of it/],
    ['a dead letter', evidence((made) => made.dead.push(SITE.urlOf(7))), /dead, though the site answers it/],
    ['a link left', evidence((made) => Object.assign(made.counters, { leased: 1 })), /1 leased/],
    [
      'a request too early',
      evidence((made) => {
        const [first] = made.accesses
        if (first !== undefined) made.accesses.push({ ...first, t: first.t + DELAY_MS / 2 })
      }),
      /the delay is 50 ms/,
    ],
    ['a page again without a kill', { ...evidence(), mayComeAgain: 0 }, /1 fetches too many, 0 can be explained/],
    ['a process that failed', { ...evidence(), faults: ['old worker: exit code 1'] }, /old worker: exit code 1/],
  ])('finds %s', (_, found, violation) => {
    expect(judge(found).violations.join('\n')).toMatch(violation)
  })

  it('says when the run proves nothing', () => {
    expect(judge({ ...evidence(), upgradedUnderLoad: false }).invalid).toEqual([
      'the crawl had finished before the upgrade had: use more --pages',
    ])
    expect(judge(evidence((made) => Object.assign(made, { state: 'running' }))).invalid).toEqual([
      'the drain was not reached: the crawl is running',
    ])
  })
})
