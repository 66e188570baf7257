import { openBench } from './bench.js'
import { BAR_MB, BOMBS, measureBombs } from './bombs.js'
import { BAR_MS, measureCpu } from './cpu.js'
import { type Result, runFixture } from './fixture.js'
import { CORPUS } from './table.js'

/** `npm run corpus [-- <word>]`: what sites do wrong and what becomes of it, all cases or those with the word in their name or number. */
const word = process.argv[2] ?? ''
const cases = CORPUS.filter(({ number, name }) => `${number} ${name}`.includes(word))

const row = (number: string, name: string, expected: string, got: string, ms: string) =>
  `${number.padStart(3)}  ${name.slice(0, 46).padEnd(46)}  ${expected.padEnd(50)}  ${got.padEnd(50)} ${ms.padStart(6)}`

console.log(row('no.', 'case', 'expected', 'got', 'ms'))
const bench = await openBench()
const results: Result[] = []
for (const fixture of cases) {
  const result = await runFixture(fixture, bench)
  results.push(result)
  const { number, name, expected } = fixture
  console.log(row(String(number), name, expected, result.passed ? 'as expected' : result.got, String(result.ms)))
}
await bench.close()
const passed = results.filter((result) => result.passed).length
console.log(`${passed} of ${results.length} as expected`)
let light = true
let quick = true
if (word === '') {
  const { idleMb, alone, together, ended } = await measureBombs()
  light = Math.max(alone, together) < BAR_MB && ended === BOMBS.length
  const mb = (value: number) => `${Math.round(value)} MB`
  console.log(
    `${BOMBS.length} bombs: a worker at rest has ${mb(idleMb)}; above that at most ${mb(alone)} one by one, ${mb(together)} four at once (bar ${BAR_MB} MB)`,
  )
  const costs = await measureCpu()
  quick = costs.every(({ msPer100Kb }) => msPer100Kb <= BAR_MS)
  console.log(`\nCPU per 100 KB, the ten costliest of ${costs.length} (bar ${BAR_MS} ms)`)
  for (const { page, reader, kb: size, msPer100Kb } of costs.slice(0, 10)) {
    console.log(`${msPer100Kb.toFixed(1).padStart(7)} ms  ${page} (${Math.ceil(size)} KB), ${reader}`)
  }
}
process.exit(quick && light && passed === results.length && results.length > 0 ? 0 : 1)
