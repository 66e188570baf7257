import { describe, expect, it } from 'vitest'
import type { ManualClock } from '../../src/clock.js'
import type { LeaseRequest, Release, Settlement } from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { frontierContract } from '../contract/frontier-contract.js'
import type { MakeFrontier } from '../contract/frontier-fixtures.js'
import { checkInvariants, frontierInvariants } from './invariants.js'
import { CountingMemory, LooseMemory } from './loose-memory.js'
import { compareWithModel, frontierProperties } from './properties.js'

const driverOf =
  (Driver: new (options: { clock: ManualClock }) => MemoryFrontier): MakeFrontier =>
  async (clock) => {
    const frontier = new Driver({ clock })
    return { frontier, close: () => frontier.close() }
  }

frontierContract('memory', driverOf(MemoryFrontier))

// Against itself: the model's counters equal a scan whatever happens.
frontierProperties('memory', driverOf(MemoryFrontier), { runs: 30 })
frontierInvariants('memory', driverOf(MemoryFrontier), { runs: 30 })

// The suites themselves: nothing that an engine need not promise is asked of it.
frontierContract('memory that only counts what is done', driverOf(CountingMemory))
frontierProperties('memory that only counts what is done', driverOf(CountingMemory), { runs: 10 })
frontierContract('memory in no order of hosts', driverOf(LooseMemory))
frontierInvariants('memory in no order of hosts', driverOf(LooseMemory), { runs: 10 })

describe('the comparison with the model, and the invariants, notice a driver that', () => {
  const faulty: Record<string, typeof MemoryFrontier> = {
    'leases anew when the call is repeated': class extends MemoryFrontier {
      #calls = 0
      override lease(request: LeaseRequest) {
        return super.lease({ ...request, seq: ++this.#calls })
      }
    },
    'forgets a link that it refused to settle': class extends MemoryFrontier {
      override async settle(settlements: readonly Settlement[]) {
        return (await super.settle(settlements)).map(() => true)
      }
    },
    'drops the links found with the acknowledgement': class extends MemoryFrontier {
      override settle(settlements: readonly Settlement[]) {
        return super.settle(
          settlements.map(({ lease, outcome }) => ({
            lease,
            outcome: outcome.kind === 'done' ? { ...outcome, links: [] } : outcome,
          })),
        )
      }
    },
    'does not free slots': class extends MemoryFrontier {
      override async release(_: readonly Release[]) {}
    },
    'never reaps': class extends MemoryFrontier {
      override async reap() {
        return 0
      }
    },
  }

  for (const [fault, Driver] of Object.entries(faulty)) {
    it(fault, async () => {
      const parameters = { numRuns: 200, endOnFailure: true }
      await expect(compareWithModel(driverOf(Driver), parameters)).rejects.toThrow('Property failed')
      await expect(checkInvariants(driverOf(Driver), parameters)).rejects.toThrow('Property failed')
    })
  }
})
