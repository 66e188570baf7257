import { parseArgs } from 'node:util'
import { tempDir } from '../support/cli.js'
import { killDemo } from './kill-demo.js'

/** `npm run kill -- --pages 3000 --kills 5`: the long form of the kill test. */
const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '3000' },
    kills: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    'within-ms': { type: 'string', default: '15000' },
  },
})
const dir = tempDir('kill')
const started = performance.now()
const report = await killDemo({
  dir: dir.path,
  pages: Number(values.pages),
  kills: Number(values.kills),
  seed: Number(values.seed),
  killWithinMs: Number(values['within-ms']),
})
for (const [name, value] of Object.entries(report)) {
  if (name !== 'violations') console.log(`${name.padEnd(18)} ${value}`)
}
console.log(`seconds            ${Math.round((performance.now() - started) / 1000)}`)
console.log(`violations         ${report.violations.length}`)
for (const violation of report.violations) console.log(`  ${violation}`)
dir.remove()
process.exitCode = report.violations.length > 0 ? 1 : 0
