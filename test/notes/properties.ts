import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { memoryNotes } from '../../src/notes/memory/memory-notes.js'
import type { Notes } from '../../src/notes/notes.js'
import type { MakeNotes } from '../contract/notes-contract.js'
import { runs } from '../support/longer.js'

type Command =
  | { readonly do: 'claim'; readonly key: string; readonly holder: string; readonly freshMs: number }
  | { readonly do: 'post'; readonly key: string; readonly holder: string; readonly text: string }
  | { readonly do: 'drop'; readonly key: string; readonly holder: string }
  | { readonly do: 'read'; readonly key: string }
  | { readonly do: 'advance'; readonly ms: number }

const key = fc.constantFrom('k', 'l')
const holder = fc.constantFrom('a', 'b', 'c')
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('claim' as const), key, holder, freshMs: fc.constantFrom(0, 500, 2000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('post' as const), key, holder, text: fc.constantFrom('x', 'y') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), key, holder }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 400, 1000, 3000) }) },
)

function run(notes: Notes, clock: ManualClock, command: Command): Promise<unknown> {
  switch (command.do) {
    case 'claim':
      return notes.claim(command.key, command.holder, command.freshMs, 1000)
    case 'post':
      return notes.post(command.key, command.holder, command.text, 2500)
    case 'drop':
      return notes.drop(command.key, command.holder)
    case 'read':
      return notes.read(command.key)
    case 'advance':
      clock.advance(command.ms)
      return Promise.resolve()
  }
}

/** The same commands give the same answers as the model's. */
export function notesProperties(driver: string, make: MakeNotes, usualRuns: number): void {
  describe(`notes properties: ${driver}`, () => {
    it('answers as the model does, and has a claim in one hand at a time', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
          const clock = new ManualClock()
          const modelClock = new ManualClock()
          const model = memoryNotes({ clock: modelClock })
          const { notes, close } = await make(clock)
          const held = new Map<string, { holder: string; until: number }>()
          try {
            for (const step of commands) {
              const answer = await run(notes, clock, step)
              expect(answer).toEqual(await run(model, modelClock, step))
              if (step.do === 'claim' && (answer as { kind: string }).kind === 'yours') {
                const other = held.get(step.key)
                if (other !== undefined && other.holder !== step.holder)
                  expect(other.until).toBeLessThanOrEqual(clock.now())
                held.set(step.key, { holder: step.holder, until: clock.now() + 1000 })
              } else if ((step.do === 'post' || step.do === 'drop') && held.get(step.key)?.holder === step.holder) {
                held.delete(step.key)
              }
            }
          } finally {
            await close()
          }
        }),
        { numRuns: runs(usualRuns) },
      )
    })
  })
}
