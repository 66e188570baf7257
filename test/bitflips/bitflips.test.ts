import { afterAll, beforeAll, expect, it } from 'vitest'
import { tempDir } from '../support/cli.js'
import { type FlipRun, prepareFlips, problemsOf } from './bitflips.js'

/** The bounded form of `npm run bitflips`. */
const dir = tempDir('bitflips')
let run: FlipRun
beforeAll(async () => {
  run = await prepareFlips(dir.path)
}, 60_000)
afterAll(() => {
  run.close()
  dir.remove()
})

/** Of a sound database, of damaged pages, of a damaged schema, and of a text that is not UTF-8. */
it.each([3, 6, 10])(
  'flipped bits end no command by a signal, and doctor finds what others trip over: seed %i',
  async (seed) => {
    expect((await run.trial(seed)).problems).toEqual([])
  },
  120_000,
)

it('is judged by signals, exit codes, stacks, and what doctor missed', () => {
  const end = (code: number | null, stderr = '', signal: NodeJS.Signals | null = null) => ({
    code,
    signal,
    stderr,
    stdout: '',
  })
  const judge = (results: Record<string, ReturnType<typeof end>>) => problemsOf(new Map(Object.entries(results)))
  expect(
    judge({ doctor: end(4), run: end(4), status: end(0), export: end(4), recover: end(0), saved: end(0) }),
  ).toEqual([])
  expect(judge({ doctor: end(0), run: end(null, '', 'SIGABRT') })).toHaveLength(1)
  expect(judge({ doctor: end(0), run: end(1) })).toHaveLength(1)
  expect(judge({ doctor: end(0), export: end(4, 'error db_corrupt') })).toHaveLength(1)
  expect(judge({ doctor: end(4), export: end(4, 'Error: x\n    at file.js') })).toHaveLength(1)
  expect(judge({ recover: end(0), saved: end(4) })).toHaveLength(1)
})
