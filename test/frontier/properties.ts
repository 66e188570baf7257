import fc from 'fast-check'
import { describe, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import type { MakeFrontier } from '../contract/frontier-fixtures.js'
import { runs } from '../support/longer.js'
import { commandArbs, seedsArb, specsArb } from './commands.js'
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
  })
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
