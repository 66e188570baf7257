import { tempDir } from '../support/cli.js'
import { prepareFlips } from './bitflips.js'

/** `npm run bitflips -- [trials] [first seed]` */
const [trials = 200, first = 1] = process.argv.slice(2).map(Number)
const dir = tempDir('bitflips')
const run = await prepareFlips(dir.path)
const ends = new Map<string, number>()
let bad = 0
for (let seed = first; seed < first + trials; seed++) {
  const { flips, codes, problems } = await run.trial(seed)
  for (const [name, code] of Object.entries(codes)) ends.set(`${name} ${code}`, (ends.get(`${name} ${code}`) ?? 0) + 1)
  if (problems.length > 0) bad++
  console.log(`${problems.length > 0 ? 'BAD ' : 'ok  '} seed ${seed}, flipped bits: ${flips}, ${JSON.stringify(codes)}`)
  for (const problem of problems) console.log(`       ${problem}`)
}
run.close()
dir.remove()
console.log(
  `\n${trials} trials, ${bad} bad; ends: ${[...ends]
    .sort()
    .map(([end, count]) => `${end} × ${count}`)
    .join(', ')}`,
)
process.exitCode = bad > 0 ? 1 : 0
