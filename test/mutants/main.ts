import { MUTANTS } from './mutants.js'
import { runMutants } from './run-mutants.js'

/** `npm run mutants [-- <word>]`: bugs of one line that the tests must notice, all of them or those with the word in their name. */
const word = process.argv[2] ?? ''
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

const results = await runMutants(
  MUTANTS.filter(({ name }) => name.includes(word)),
  ({ name, verdict, seconds, detail }) => {
    console.log(
      `${verdict.padEnd(9)} ${seconds.toFixed(1).padStart(5)} s  ${name}${detail === '' ? '' : `\n${detail}`}`,
    )
  },
)
const killed = results.filter(({ verdict }) => verdict === 'killed').length
console.log(`${killed} of ${results.length} killed`)
process.exit(killed === results.length && results.length > 0 ? 0 : 1)
