import fc from 'fast-check'
import { describe, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { Lease, LeaseRequest } from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { queueOf, runFleet } from '../contract/fleet.js'
import { addressOf, linkTo, type MakeFrontier, specOf } from '../contract/frontier-fixtures.js'
import { runs } from '../support/longer.js'
import { commandArbs, limitsArb, seedsArb, specsArb } from './commands.js'
import { same, type World } from './world.js'

/**
 * Drives the model and another driver with the same sequences of calls and compares every answer, and after every call the counters, a
 * full scan, hosts and workers. Left free: `idleMs`, messages, and whether a link that fell due is shown as delayed or queued.
 */
export function frontierProperties(name: string, makeDriver: MakeFrontier, options: { runs: number }): void {
  describe(`frontier properties: ${name}`, () => {
    const sequences = runs(options.runs)
    const timeout = 60_000 + sequences * 2_000
    it(`does what the model does, over ${sequences} sequences`, { timeout }, () =>
      compareWithModel(makeDriver, {
        numRuns: sequences,
        // A failure that is found is told, however long it would take to make it shorter.
        interruptAfterTimeLimit: timeout - 10_000,
        markInterruptAsFailure: true,
      }),
    )
    it('shares scarce work as the model does', { timeout }, () => compareFleets(makeDriver, runs(5)))
  })
}

/** A fleet on the model, and every call of it on the driver too. */
function compareFleets(makeDriver: MakeFrontier, numRuns: number): Promise<void> {
  const fleetArb = fc.record({
    ceilings: fc.array(fc.constantFrom(1, 3, 64), { minLength: 2, maxLength: 4 }),
    answerMs: fc.constantFrom(20, 100, 300),
    forMs: fc.constant(4_000),
  })
  const property = fc.asyncProperty(limitsArb, fc.constantFrom(1, 3), fleetArb, async (limits, hosts, fleet) => {
    const clock = new ManualClock()
    const { frontier: driver, close } = await makeDriver(clock)
    const model = new MemoryFrontier({ clock })
    const sides = { clock, model, driver }
    const links = Array.from({ length: 300 }, (_, nth) => linkTo(`h${nth % hosts}.test/${nth}`))
    const leaseOf = new Map<Lease, Lease>()
    try {
      await same(sides, (frontier) => frontier.open(specOf({ limits })))
      await same(sides, (frontier) => frontier.add('c1', links))
      const lease = async (request: LeaseRequest) => {
        const replies = await same(
          sides,
          (frontier) => frontier.lease(request),
          ({ leases }) => leases.map(addressOf),
        )
        if (replies === null) throw new Error('the lease call failed')
        replies.model.leases.forEach((of, nth) => {
          const other = replies.driver.leases[nth]
          if (other !== undefined) leaseOf.set(of, other)
        })
        return replies.model
      }
      const finish = async (leases: readonly Lease[], elapsedMs: number) => {
        await queueOf(model).finish(leases, elapsedMs)
        const theirs = leases.flatMap((of) => leaseOf.get(of) ?? [])
        await queueOf(driver).finish(theirs, elapsedMs)
      }
      await runFleet({ lease, finish }, clock, fleet)
    } finally {
      await close()
    }
  })
  return fc.assert(property, { numRuns })
}

/** Rejects with the shortest sequence found on which they differ. */
export async function compareWithModel(
  makeDriver: MakeFrontier,
  parameters: Pick<fc.Parameters, 'numRuns' | 'endOnFailure' | 'interruptAfterTimeLimit' | 'markInterruptAsFailure'>,
) {
  const commandsArb = fc.commands(commandArbs, { maxCommands: 100, size: 'max' })
  const property = fc.asyncProperty(specsArb, seedsArb, commandsArb, async (specs, seeds, commands) => {
    const clock = new ManualClock()
    const made = await makeDriver(clock)
    const driver = made.frontier
    const model = new MemoryFrontier({ clock })
    try {
      const disturb = async () => made.disturb?.()
      const world: World = { clock, model, driver, specs, seqs: new Map(), leases: [], last: new Map(), disturb }
      for (const spec of specs) {
        await same(world, (frontier) => frontier.open(spec))
        await same(world, (frontier) => frontier.add(spec.id, seeds))
      }
      await same(world, (frontier) => frontier.seeded('c1'))
      await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
    } finally {
      await made.close()
    }
  })
  await fc.assert(property, parameters)
}
