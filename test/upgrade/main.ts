import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { tempDir } from '../support/cli.js'
import { NoPreviousBuild, previousBuild } from './previous-build.js'
import { rollingUpgrade } from './rolling-upgrade.js'

/**
 * `npm run upgrade -- --from v1.2.0`: a fleet is upgraded from one version to this one under load. About 2 minutes, and a few more for the first build of
 * the old version. Exit code 0: nothing was lost; 1: violations, listed; 4: there is no old version to upgrade from.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    pages: { type: 'string', default: '2000' },
    'step-ms': { type: 'string', default: '3000' },
  },
})
const dir = tempDir('upgrade')
// The servers and workers are ended on exit; a signal alone would leave them running.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => {
    dir.remove()
    process.exit(code)
  })
const started = performance.now()
const seconds = () => ((performance.now() - started) / 1000).toFixed(1)
try {
  const folder = previousBuild(values.from ?? null)
  const report = await rollingUpgrade({
    old: { name: 'old', folder },
    fresh: { name: 'new', folder: fileURLToPath(new URL('../../', import.meta.url)) },
    dir: dir.path,
    pages: Number(values.pages),
    stepMs: Number(values['step-ms']),
    say: (line) => console.log(`${seconds().padStart(6)} s  ${line}`),
  })
  for (const [name, value] of Object.entries(report))
    if (name !== 'violations') console.log(`${name.padEnd(12)} ${value}`)
  console.log(`${'seconds'.padEnd(12)} ${seconds()}`)
  console.log(`${'violations'.padEnd(12)} ${report.violations.length}`)
  for (const violation of report.violations) console.log(`  ${violation}`)
  process.exitCode = report.violations.length > 0 ? 1 : 0
} catch (error) {
  if (!(error instanceof NoPreviousBuild)) throw error
  console.error(error.message)
  process.exitCode = 4
} finally {
  dir.remove()
}
